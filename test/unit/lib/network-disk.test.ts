import { tmpdir } from "node:os";
import { describe, expect, it } from "vitest";
import { networkDisk, remoteFuse } from "../../../packages/gateway/src/lib/network-disk.ts";

const mount = (at: string, type: string) =>
  `36 35 98:0 / ${at} rw,noatime master:1 - ${type} host:/folder rw,errors=continue`;

describe("a network file system", () => {
  it("is not found on this machine's own disks", async () => {
    expect(await networkDisk(tmpdir())).toBeUndefined();
  });

  it.each([
    ["sshfs below it", [mount("/", "ext4"), mount("/home/me", "fuse.sshfs")], "sshfs"],
    ["a local program behind FUSE", [mount("/", "fuse.sshfs"), mount("/home", "fuse.mergerfs")], undefined],
    ["a neighbour with a longer name", [mount("/", "ext4"), mount("/home/m", "fuse.sshfs")], undefined],
    ["a second mount at the same place", [mount("/home", "ext4"), mount("/home", "fuse.s3fs")], "s3fs"],
    ["a name with a space", [mount("/", "ext4"), mount("/home/me/the\\040home", "fuse.rclone")], "rclone"],
    ["lines that say nothing", ["", "- -", " - ", "36 35"], undefined],
  ])("is told from the mounts: %s [HOME-1]", (_, lines, found) => {
    expect(remoteFuse(lines.join("\n"), "/home/me/the home/run")).toBe(found);
  });
});
