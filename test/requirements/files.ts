/** Files in workspaces, media, session and state folders, whatever an agent puts there. */
export const files = {
  "FILE-1":
    "a file is read only where the opened descriptor proves to lie inside its folder; exchanging folders and links meanwhile leads nowhere",
  "FILE-2":
    "nothing below a .<channel>-state folder is given out: by no route, tool, share or send, in no spelling, through no link or hard link",
  "FILE-3": "pipes, devices, sockets and folders in place of files keep nobody waiting and are not read",
  "FILE-4": "of a file that is read whole no more than its cap is read, however large it claims to be",
  "FILE-5": "writing follows no link; a state folder that is a link is 409 CONFLICT and named",
  "FILE-6": "a share is of the file that was shared, under its only name; what takes its place is 404",
  "FILE-7":
    "state folders are 0700 and what is in them 0600, the database, logs and configuration 0600, whatever the umask and the modes before",
  "FILE-8":
    "agents[].instructions names one file of standing instructions for several agents; no route can set it",
};
