import { describe, expect, it } from "vitest";
import type { Config } from "../../../packages/gateway/src/config/index.ts";
import {
  type Book,
  readBook,
  refreshState,
  writeBook,
} from "../../../packages/gateway/src/connectors/oauth/book.ts";
import type { OAuthEntry } from "../../../packages/gateway/src/connectors/oauth/index.ts";
import { createSweep, type SweepDeps } from "../../../packages/gateway/src/connectors/oauth/sweep.ts";
import { RefusedError } from "../../../packages/gateway/src/connectors/oauth/token.ts";
import { createRegistry, isConnected, serverOf } from "../../../packages/gateway/src/connectors/registry.ts";
import { silentLogger } from "../../../packages/gateway/src/lib/logger.ts";
import { manualClock } from "../../fixtures/manual-clock.ts";
import { memoryFile, ownedEntry } from "../../fixtures/oauth-room.ts";
import { everyOrder, RUNS_TIMEOUT } from "../../fixtures/orders.ts";
import { numbersOf, shuffler } from "../../fixtures/shuffle.ts";

const URL_ = "https://mcp.example/mcp";
const MINUTE = 60_000;
const ACCESS = "CUSTOM__tools__access_token";
const BOOK = "CUSTOMINT__tools__oauth";

function grantOf(
  refreshToken: string | undefined,
  expiresAt: number | undefined,
): NonNullable<Book["grant"]> {
  return {
    endpoint: "https://auth.example/token",
    client: { id: "c", method: "none" },
    resource: URL_,
    local: false,
    ...(refreshToken !== undefined && { refreshToken }),
    ...(expiresAt !== undefined && { expiresAt }),
  };
}

/** A sweep with one connector signed in, whose token ends in an hour. */
function rig(refresh: NonNullable<SweepDeps["refresh"]>, between?: () => Promise<void>) {
  const clock = manualClock();
  const { lines, file } = memoryFile(between);
  const entries: Record<string, OAuthEntry> = { tools: ownedEntry(URL_) };
  const signIn = (name: string, life: number | undefined = 60 * MINUTE, refreshes = true) => {
    lines[ACCESS] = `access ${name}`;
    const grant = grantOf(
      refreshes ? `refresh ${name}` : undefined,
      life === undefined ? life : clock.now() + life,
    );
    lines[BOOK] = writeBook({ url: URL_, grant });
  };
  signIn("0");
  const make = () =>
    createSweep({ entries: () => entries, file, refresh, onSecret() {}, clock, log: silentLogger });
  const sweep = make();
  return {
    clock,
    lines,
    file,
    entries,
    signIn,
    make,
    sweep: () => sweep(new AbortController().signal),
    state: () => refreshState(lines[BOOK], clock.now()),
    held: () => readBook(lines[BOOK])?.grant,
  };
}

const failing = (error: Error) => async () => Promise.reject(error);
const tokens = (name: string, life: number | undefined = 3600) => ({
  accessToken: `access ${name}`,
  refreshToken: `refresh ${name}` as string | undefined,
  life,
});

describe("a token of a sign-in", () => {
  it("is none for a connector that has another address since, whatever the file still has [OAUTH-7]", () => {
    const { lines, entries } = rig(async () => tokens("never"));
    const registry = (entry: OAuthEntry) => {
      const config = { gateway: { customConnectors: { tools: entry } } } as unknown as Config;
      return createRegistry({ config: () => config, log: silentLogger })().get("tools")!;
    };
    expect(isConnected(registry(entries.tools!), lines)).toBe(true);
    const moved = registry(ownedEntry("https://other.example/mcp"));
    expect(isConnected(moved, lines)).toBe(false);
    expect(JSON.stringify(serverOf(moved, lines))).not.toContain("access 0");
    const pasted = registry({ ...ownedEntry("https://other.example/mcp"), credentialOwner: "static" });
    expect(isConnected(pasted, lines)).toBe(true);
  });
});

describe("the refresh of a connector's token", () => {
  it("comes five minutes before its end, and not before [OAUTH-12]", async () => {
    const asked: string[] = [];
    const room = rig(async ({ refreshToken }) => {
      asked.push(refreshToken);
      return tokens("1");
    });
    room.clock.advance(55 * MINUTE - 1);
    await room.sweep();
    expect(asked).toEqual([]);
    room.clock.advance(1);
    await room.sweep();
    await room.sweep();
    expect(asked).toEqual(["refresh 0"]);
    expect(room.lines[ACCESS]).toBe("access 1");
    expect(room.held()).toMatchObject({ refreshToken: "refresh 1", expiresAt: room.clock.now() + 3_600_000 });
    expect(room.state()).toBeUndefined();
  });

  it("keeps the refresh token where the server sends no other, and knows no end that it is not told [OAUTH-12]", async () => {
    const room = rig(async () => ({ accessToken: "access 1", refreshToken: undefined, life: undefined }));
    room.clock.advance(60 * MINUTE);
    await room.sweep();
    expect(room.held()).toEqual(grantOf("refresh 0", undefined));
    room.clock.advance(1_000 * MINUTE);
    await room.sweep();
    expect(room.lines[ACCESS]).toBe("access 1");
  });

  it("waits longer after each failure of the network, also after a restart, and begins anew by a success [OAUTH-13]", async () => {
    let works = false;
    let asked = 0;
    const room = rig(async () => {
      asked++;
      if (!works) throw new TypeError("network");
      return tokens("1");
    });
    room.clock.advance(60 * MINUTE);
    const pauses = [5, 10, 20, 40, 80, 160, 320, 360, 360];
    for (const [at, pause] of pauses.entries()) {
      await room.sweep();
      expect(asked).toBe(at + 1);
      const nextAttemptAt = room.clock.now() + pause * MINUTE;
      expect(room.state()).toEqual({ consecutiveFailures: at + 1, permanentFailures: 0, nextAttemptAt });
      room.clock.advance(pause * MINUTE - 1);
      await room.make()(new AbortController().signal);
      expect(asked).toBe(at + 1);
      room.clock.advance(1);
    }
    expect(room.lines[ACCESS]).toBe("access 0");
    works = true;
    await room.sweep();
    expect(room.state()).toBeUndefined();
    expect(room.lines[ACCESS]).toBe("access 1");
  });

  it("does not wait for hours because the clock was set back [OAUTH-13]", async () => {
    let asked = 0;
    const room = rig(async () => {
      asked++;
      throw new TypeError("network");
    });
    room.clock.jump(1_000 * MINUTE);
    await room.sweep();
    room.clock.jump(-940 * MINUTE);
    await room.sweep();
    expect(asked).toBe(2);
  });

  it("clears the tokens with the third refusal, and tells so until the next sign-in [OAUTH-13]", async () => {
    const room = rig(failing(new RefusedError("invalid_grant")));
    room.clock.advance(60 * MINUTE);
    for (const permanentFailures of [1, 2]) {
      await room.sweep();
      const nextAttemptAt = room.clock.now() + MINUTE;
      expect(room.state()).toEqual({
        consecutiveFailures: permanentFailures,
        permanentFailures,
        nextAttemptAt,
      });
      expect(room.lines[ACCESS]).toBe("access 0");
    }
    await room.sweep();
    const over = { consecutiveFailures: 3, permanentFailures: 3, nextAttemptAt: null, unrefreshable: true };
    expect(room.state()).toEqual(over);
    expect(room.lines).toEqual({ [BOOK]: expect.not.stringContaining("refresh 0") });
    room.clock.advance(1_000 * MINUTE);
    await room.sweep();
    expect(room.state()).toEqual(over);
    room.signIn("1");
    expect(room.state()).toBeUndefined();
  });

  it("tells of a token that ends and cannot be refreshed [OAUTH-13]", async () => {
    const room = rig(async () => tokens("never"));
    room.signIn("0", 60 * MINUTE, false);
    expect(room.state()).toBeUndefined();
    room.clock.advance(55 * MINUTE);
    await room.sweep();
    expect(room.lines[ACCESS]).toBe("access 0");
    const nextAttemptAt = null;
    expect(room.state()).toEqual({
      consecutiveFailures: 0,
      permanentFailures: 0,
      nextAttemptAt,
      unrefreshable: true,
    });
  });

  it("drops tokens that are for another address, and leaves connectors of others alone [OAUTH-12]", async () => {
    const room = rig(async () => tokens("never"));
    room.entries.tools = { ...ownedEntry(URL_), credentialOwner: "static" };
    room.clock.advance(60 * MINUTE);
    await room.sweep();
    expect(room.lines[ACCESS]).toBe("access 0");
    room.entries.tools = ownedEntry("https://other.example/mcp");
    await room.sweep();
    expect(room.lines).toEqual({});
  });

  it("leaves a sign-in alone that comes while tokens for another address are dropped [OAUTH-12]", async () => {
    const room = rig(async () => tokens("never"));
    const { edit } = room.file;
    const changes = [() => room.signIn("1"), () => (room.entries.tools = ownedEntry(URL_))];
    for (const change of changes) {
      room.entries.tools = ownedEntry("https://other.example/mcp");
      room.file.edit = (drop) => {
        change();
        return edit(drop);
      };
      await room.sweep();
      expect(room.lines[ACCESS]).toMatch(/^access/);
    }
    room.entries.tools = ownedEntry("https://other.example/mcp");
    room.file.edit = edit;
    await room.sweep();
    expect(room.lines).toEqual({});
  });

  it("stores nothing for a connector that is removed or has another address by then [OAUTH-12]", async () => {
    for (const end of ["tokens", "refusal"]) {
      const changes: Array<(entries: Record<string, OAuthEntry>) => void> = [
        (entries) => delete entries.tools,
        (entries) => {
          entries.tools = ownedEntry("https://other.example/mcp");
        },
      ];
      for (const change of changes) {
        const room = rig(async () => {
          change(room.entries);
          if (end === "refusal") throw new RefusedError("invalid_grant");
          return tokens("1");
        });
        const before = { ...room.lines };
        room.clock.advance(60 * MINUTE);
        await room.sweep();
        expect(room.lines).toEqual(before);
      }
    }
  });

  it("says nothing of a server that did not answer before the gateway stopped [OAUTH-13]", async () => {
    const stop = new AbortController();
    const room = rig(async () => {
      stop.abort();
      throw new TypeError("aborted");
    });
    room.clock.advance(60 * MINUTE);
    await room.make()(stop.signal);
    expect(room.state()).toBeUndefined();
  });

  it("goes on with the others when one cannot be stored, and fails [OAUTH-12]", async () => {
    const room = rig(async () => tokens("1"));
    room.entries.more = ownedEntry(URL_);
    room.lines.CUSTOMINT__more__oauth = room.lines[BOOK]!;
    room.clock.advance(60 * MINUTE);
    const { edit } = room.file;
    let edits = 0;
    room.file.edit = (change) => (edits++ === 0 ? Promise.reject(new Error("disk full")) : edit(change));
    await expect(room.sweep()).rejects.toThrow("disk full");
    expect(room.lines.CUSTOM__more__access_token).toBe("access 1");
  });

  it(
    "gives way to a sign-in, a removal and another address in every order, and never uses a token twice [OAUTH-12]",
    { timeout: RUNS_TIMEOUT },
    () =>
      everyOrder(async (seed) => {
        const random = numbersOf(seed);
        const { between, step } = shuffler(random);
        const used = new Set<string>();
        let count = 0;
        let atOnce = 0;
        /** Said outside: what a refresh throws is its failure. */
        const wrong: string[] = [];
        const room = rig(async ({ refreshToken }) => {
          if (++atOnce > 1) wrong.push("two refreshes at a time");
          if (used.has(refreshToken)) wrong.push(`${refreshToken} was used twice`);
          used.add(refreshToken);
          await between();
          atOnce--;
          const fate = random();
          if (fate < 0.2) throw new RefusedError("invalid_grant");
          if (fate < 0.3) throw new TypeError("network");
          return tokens(`r${++count}`, 1);
        }, between);
        room.clock.advance(60 * MINUTE);
        /** What a person did last, and must find. */
        let last: "sign-in" | "removal" | undefined;
        const person = async () => {
          await between();
          const name = `s${++count}`;
          const removes = random() < 0.4;
          await room.file.edit(() => {
            last = removes ? "removal" : "sign-in";
            if (removes) return { [ACCESS]: null, [BOOK]: null };
            const grant = grantOf(`refresh ${name}`, room.clock.now() + 600 * MINUTE);
            return { [ACCESS]: `access ${name}`, [BOOK]: writeBook({ url: URL_, grant }) };
          });
        };
        const all = Promise.all([room.sweep(), person(), room.sweep(), person(), room.sweep()]);
        let over = false;
        const ended = all.finally(() => {
          over = true;
        });
        while (!over) {
          step();
          await new Promise((resolve) => setImmediate(resolve));
        }
        await ended;
        expect(wrong).toEqual([]);
        if (last === "removal") expect(room.lines).toEqual({});
        else {
          const name = room.lines[ACCESS]!.replace("access ", "");
          expect(name).toMatch(/^s/);
          expect(room.held()?.refreshToken).toBe(`refresh ${name}`);
        }
      }),
  );
});
