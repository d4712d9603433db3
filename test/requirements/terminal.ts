/** Terminals of sessions, as people look at them. */
export const terminal = {
  "TERM-1":
    "a ticket is for an admin key or a login, for one session of one agent; unknown ones are 404, and a program that does not run is started",
  "TERM-2":
    "the socket sends binary frames: first the screen, then what the program writes, each byte once and in order, to every viewer",
  "TERM-3":
    "text frames up to 4 KiB are keys of whichever viewer sends them; empty, larger and binary ones are dropped, over 64 KiB closes 1009",
  "TERM-4":
    "a viewer that is 1 MiB behind gets nothing more until it has read, and then the screen as it is; the others notice nothing",
  "TERM-5":
    "a socket closes with 4404 without a terminal, 4410 with its program, 4401 with its right, 1001 with the gateway",
  "TERM-6": "the visible screen of a session is text without escape sequences; without a terminal 404",
  "TERM-7":
    "`sessions attach` shows and types in the person's own terminal, says how to leave, and gives it back as it was on every way out",
  "TERM-8":
    "the page shows a terminal under its policy, without an error on its console, and types only after a switch was thrown; Ctrl+] takes the keyboard back",
} as const;

/** `/cli` in a chat. */
export const pairing = {
  "PAIR-1":
    "`/cli` exists where the agent has a terminal; it answers in a direct chat, to a sender on the allowlist, with a public address",
  "PAIR-2":
    "a pairing lasts ten minutes and is one of five of its agent; unknown, over or ended, everything below its link is 404",
  "PAIR-3": "looking at a link binds nothing; the first browser that asks owns it, every other is refused",
  "PAIR-4":
    "only who asked approves, in that chat, by the code that the page shows; the viewer ends 30 minutes later",
  "PAIR-5":
    "in `botchat` the provider's signed data approves: of that bot, at most five minutes old, of the sender, once",
  "PAIR-6":
    "cookies are HttpOnly, for the address of their pairing alone, Secure over https, and SameSite=Strict but in `botchat`",
  "PAIR-7":
    "a viewer lists and opens the sessions of its agent alone, and ends when its person may no longer write",
} as const;
