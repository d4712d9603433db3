/** Updating the gateway and the agent CLI, and installing the gateway. */
export const packages: Readonly<Record<string, string>> = {
  "PKG-1":
    "GET /api/v1/packages tells of the gateway and the agent CLI which version is installed, which is the newest, and which one runs where that is another; the answer is shared for five minutes unless a refresh is asked for",
  "PKG-2":
    "while the registry cannot be asked, packages answer 503; a package that is not installed has no version and no update",
  "PKG-3":
    "a changelog is read from the package that npm packs: the releases after one version up to another, newest first, for an hour; versions that are none are 400, and those that npm does not know 404",
  "PKG-4":
    "an update of the gateway is installed, looked at, and tried on the running configuration; then the answer goes out and the gateway ends with exit code 75",
  "PKG-5":
    "an update of the gateway that fails at any step, hangs or says nonsense is undone and answered with INSTALL_FAILED, the gateway stays up, and its loop is never blocked",
  "PKG-6": "the agent CLI updates itself, with no restart; what did not change was not updated",
  "PKG-7": "of two updates at the same time the second is 409, and one of an unknown package 404",
  "PKG-8":
    "a gateway that is killed in mid-update leaves npm to finish; the next start tells what came of it, and nobody installs a second time meanwhile",
  "PKG-9": "what programs print is shown with its secrets masked, 4 KiB of it at most",
  "PKG-10":
    "npm and what it installs get neither the gateway's keys nor those of model providers; the tried gateway gets the environment of the running one",
  "PKG-11":
    "versions are compared as https://semver.org says, and a changelog's headings are read in each of their usual forms",
  "PKG-12":
    "the packed gateway, installed globally without scripts, runs with Node.js 20 by the Node.js that comes along; without optional dependencies it says in one sentence what to do",
  "PKG-13":
    "`service install` writes and enables a unit of systemd, of the user or of the machine, or an agent of launchd, which starts the gateway again after exit codes 70 and 75 and not after 78; `service uninstall` leaves nothing of it",
  "PKG-14":
    "`service install` changes no file that it did not write, and leaves nothing behind where the system refuses",
  "PKG-15":
    "the System page shows what changed before it offers an update, says what a failed one said, and waits through the restart of the gateway",
};
