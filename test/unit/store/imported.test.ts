import { describe, expect, it } from "vitest";
import { fold } from "../../../packages/gateway/src/store/fold.ts";
import {
  fingerprint,
  idsFor,
  previewOf,
  rowOf,
  sessionNameOf,
  stagedUuid,
} from "../../../packages/gateway/src/store/imported.ts";
import type { ImportedMessage } from "../../../packages/gateway/src/store/index.ts";

const message = (more: Partial<ImportedMessage> = {}): ImportedMessage => ({
  chatId: "api-c",
  sessionId: "s",
  role: "assistant",
  content: "text",
  ts: 1,
  ...more,
});

describe("an imported session", () => {
  it("keeps its id where that can name a folder, and has one to fall back on", () => {
    const own = (sessionId: string) => idsFor("a", "c", sessionId)[0] === sessionId;
    for (const id of ["s", "a.b_c-1", "...", ".hidden", "x".repeat(128)])
      expect([id, own(id)]).toEqual([id, true]);
    for (const id of ["", ".", "..", "-rf", "a/b", "a b", "é", " s", "s\n", "x".repeat(129)]) {
      expect([id, own(id)]).toEqual([id, false]);
      expect(idsFor("a", "c", id).length).toBe(1);
    }
    expect(idsFor("a", "c", "s").length).toBe(2);
  });

  it("gets the same id from every import, a UUID that no other session gets", () => {
    const derived = (...from: [string, string, string]) => idsFor(...from).at(-1)!;
    // The id that earlier versions gave: a file that is imported again is skipped, not doubled.
    expect(derived("a", "c", "s")).toBe("3157fe87-c526-857d-a973-4fa2a8283d4a");
    expect(derived("a", "c", "s")).toMatch(
      /^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-a[0-9a-f]{3}-[0-9a-f]{12}$/,
    );
    const others = [
      derived("b", "c", "s"),
      derived("a", "d", "s"),
      derived("a", "c", "t"),
      derived("ac", "", "s"),
    ];
    expect(new Set([derived("a", "c", "s"), ...others]).size).toBe(5);
  });

  it("is staged apart from those of other imports, chats and sessions", () => {
    const staged: [string, string, string][] = [
      ["i", "c", "s"],
      ["j", "c", "s"],
      ["i", "d", "s"],
      ["i", "c", "t"],
    ];
    expect(new Set(staged.map((which) => stagedUuid(...which))).size).toBe(4);
  });

  it("has its name as one line, or waits for one", () => {
    const named = (sessionName?: string | null) => sessionNameOf(message({ sessionName }));
    expect(named("One\nname")).toEqual({ name: "One name", unnamed: 0 });
    expect(named("x".repeat(5000)).name).toBe("x".repeat(1000));
    for (const none of [undefined, null, "", " \n"]) {
      expect(named(none)).toEqual({ name: "Imported session", unnamed: 1 });
    }
  });
});

describe("an imported message", () => {
  it("keeps who said it, and further fields only where there are any", () => {
    expect(rowOf(message())).toEqual({ role: 1, content: "text", extra: null, steps: null });
    expect(rowOf(message({ role: "user" })).role).toBe(0);
    const extra = (more: Partial<ImportedMessage>) => {
      const { extra: json } = rowOf(message(more));
      return json === null ? null : JSON.parse(json);
    };
    const error = { code: "AGENT_FAILED", message: "no" };
    expect(extra({ interrupted: true })).toEqual({ interrupted: true });
    expect(extra({ error })).toEqual({ error });
    expect(extra({ senderName: "A\u202eB\n" })).toEqual({ senderName: "A B" });
    expect(extra({ senderName: "x".repeat(2000) })).toEqual({ senderName: "x".repeat(1000) });
    expect(extra({ senderName: "\n" })).toBeNull();
    expect(extra({ interrupted: true, error, senderName: "N" })).toEqual({
      interrupted: true,
      error,
      senderName: "N",
    });
  });

  it("keeps what the agent did, for what an agent said alone [STEP-1]", () => {
    const steps = [{ type: "text", length: 4 }];
    expect(JSON.parse(rowOf(message({ steps })).steps!)).toEqual(steps);
    expect(rowOf(message({ steps: [] })).steps).toBeNull();
    expect(rowOf(message({ steps, role: "user" })).steps).toBeNull();
  });

  it("is known again by who said it and all of its text, at no more than a few bytes each", () => {
    const long = "x".repeat(100_000);
    const texts = ["", "a", "b", "1a", "x".repeat(63), "x".repeat(64), "x".repeat(65), long, `${long}y`];
    const prints = [0, 1].flatMap((role) => texts.map((text) => fingerprint(role, text)));
    expect(new Set(prints).size).toBe(prints.length);
    expect(prints.every((print) => print.length <= 65)).toBe(true);
    expect(prints).toEqual([0, 1].flatMap((role) => texts.map((text) => fingerprint(role, text))));
    expect(fingerprint(1, "short")).toContain("short");
    expect(fingerprint(1, long)).toMatch(/^1[A-Za-z0-9+/]{43}=$/);
  });

  it("shows its beginning in lists, never half a character", () => {
    expect(previewOf("short")).toBe("short");
    expect(previewOf("x".repeat(201))).toBe("x".repeat(200));
    expect(previewOf(`${"x".repeat(199)}\u{1f600}`)).toBe(`${"x".repeat(199)}\u{fffd}`);
  });
});

describe("search compares texts", () => {
  it("without regard to case, and with nothing else changed [STORE-SAME-1]", () => {
    expect(fold("ÀÉ Straße ПРИВЕТ 東京 é")).toBe("àé straße привет 東京 é");
    expect(fold("ΟΔΟΣ")).toBe(fold("οδος"));
    expect(fold("ΣΟΦΟΣ σοφος")).toBe("σοφοσ σοφοσ");
  });

  it("as every driver can carry them, with other characters for those that it cannot [STORE-SAME-1, STORE-TEXT-1]", () => {
    expect(fold("a\0b")).toBe("a\ufdd0b");
    expect(fold("a\ufffeb\uffffc")).toBe("a\ufffdb\ufffdc");
    expect(fold("a\ud800b\udc00")).toBe("a\ufffdb\ufffd");
  });
});
