import { readFile, realpath, statfs } from "node:fs/promises";
import { sep } from "node:path";

/** `f_type` of statfs(2), for file systems whose locks another machine may not see. */
const NETWORK_TYPES: Readonly<Record<number, string>> = {
  26985: "NFS",
  20859: "SMB",
  4266872130: "SMB",
  4283649346: "CIFS",
  1397113167: "AFS",
  12805120: "Ceph",
  198183888: "Lustre",
  16914839: "9P",
};
const FUSE = 0x65735546;
/** Programs behind FUSE that reach another machine; the type alone does not tell them from those for local disks. */
const REMOTE_FUSE =
  /^fuse\.(?:sshfs|glusterfs|s3fs|rclone|ceph(?:-fuse)?|gcsfuse|blobfuse2?|curlftpfs|davfs)$/;

/** The kind of file system that a line of `/proc/self/mountinfo` mounts, if `path` is below it. */
const mountOf = (line: string, path: string): { at: string; type: string } | undefined => {
  const [own, source] = line.split(" - ", 2);
  const at = own
    ?.split(" ")[4]
    ?.replace(/\\([0-7]{3})/g, (_, code: string) => String.fromCharCode(Number.parseInt(code, 8)));
  const type = source?.split(" ")[0];
  if (at === undefined || type === undefined) return undefined;
  return path === at || path.startsWith(at === sep ? at : `${at}${sep}`) ? { at, type } : undefined;
};

/** The program behind the FUSE mount that holds `path`, where it reaches another machine. */
export function remoteFuse(mounts: string, path: string): string | undefined {
  let deepest: { at: string; type: string } | undefined;
  for (const line of mounts.split("\n")) {
    const mount = mountOf(line, path);
    // Of several at the same place, the last hides the others.
    if (mount && mount.at.length >= (deepest?.at.length ?? 0)) deepest = mount;
  }
  return deepest && REMOTE_FUSE.test(deepest.type) ? deepest.type.slice("fuse.".length) : undefined;
}

/** Name of the network file system that holds a folder; undefined for a disk of this machine. Only Linux tells. */
export async function networkDisk(folder: string): Promise<string | undefined> {
  if (process.platform !== "linux") return undefined;
  const { type } = await statfs(folder);
  // Some systems give the number with its sign.
  const known = NETWORK_TYPES[type >>> 0];
  if (known !== undefined || type !== FUSE) return known;
  return remoteFuse(await readFile("/proc/self/mountinfo", "utf8"), await realpath(folder));
}
