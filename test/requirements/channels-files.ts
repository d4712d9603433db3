/** Rules of `2-channels.md` and contract 10 for files that come with messages and go out with replies. */
export const channelsFiles: Record<string, string> = {
  "CH-FILES-1":
    "names from outside are one line without controls and bidirectional overrides, cut to their limit",
  "CH-FILES-2": "a file's name is shown without path and without anything that harms, its extension kept",
  "CH-FILES-3": "an image is stored by the type of its content; what is none is refused",
  "CH-FILES-4":
    "a file's stored extension is the short alphanumeric run of its name; unusable and browser-active ones are .bin",
  "CH-FILES-5": "inbound files are cut off at 20 MB while they come",
  "CH-FILES-6": "an empty or broken download leaves nothing behind",
  "CH-FILES-7": "share_file sends a file that is no image into the chat, as a copy of what it was then",
  "CH-FILES-8":
    "the agent is told image_path, attachment_kind and attachment_name, and gets the files that it can read",
  "CH-FILES-9":
    "a file that cannot be had leaves the turn to go on without image_path and with a sentence that says why, without addresses or secrets",
  "CH-FILES-10": "a download ends after a minute",
};
