import { createHmac } from "node:crypto";
import { validateSignature } from "@line/bot-sdk";
import { isValidSlackRequest } from "@slack/bolt";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { WebhookRequest } from "../../../../packages/gateway/src/channels/types.ts";
import { WEBHOOKS as LOADS } from "../../../../packages/gateway/src/channels/webhooks.ts";
import {
  SECRETS,
  SIGNATURE_HEADER,
  SIGNED_CHANNELS,
  type SignedApp,
  signedHeaders,
} from "../../../fixtures/webhook-signing.ts";
import { accepts, agentWith, request } from "./agents.ts";

const WEBHOOKS = {
  sigchat: await LOADS.sigchat(),
  teamchat: await LOADS.teamchat(),
  cloudchat: await LOADS.cloudchat(),
  botchat: await LOADS.botchat(),
};
const NOW = 1_800_000_000_500;
const agent = agentWith();
const apps = Object.keys(SECRETS) as SignedApp[];
const takes = (app: SignedApp, incoming: WebhookRequest, now = NOW) =>
  accepts(WEBHOOKS[app], incoming, agent, now);
const bytes = fc.uint8Array({ minLength: 1, maxLength: 300 }).map((array) => Buffer.from(array));

/** One change to a text: a character replaced, left out or put in, or the whole turned round. */
const mutation = fc.tuple(
  fc.nat(),
  fc.constantFrom("replace", "drop", "insert", "double", "cut"),
  fc.string({ minLength: 1, maxLength: 2 }),
);
function mutate(text: string, [at, how, put]: [number, string, string]): string {
  const i = at % (text.length + 1);
  if (how === "replace") return text.slice(0, i) + put + text.slice(i + put.length);
  if (how === "drop") return text.slice(0, i) + text.slice(i + 1);
  if (how === "insert") return text.slice(0, i) + put + text.slice(i);
  if (how === "double") return `${text}, ${text}`;
  return text.slice(0, i);
}

describe.each(apps)("signatures of %s", (app) => {
  const name = SIGNATURE_HEADER[app];

  it("are right for the body and the secret alone [CH-HOOK-5]", () => {
    fc.assert(
      fc.property(bytes, bytes, (body, other) => {
        expect(takes(app, request(body, signedHeaders(app, body, { now: NOW })))).toBe(true);
        expect(takes(app, request(body, signedHeaders(app, body, { now: NOW, secret: "another" })))).toBe(
          false,
        );
        if (!body.equals(other)) {
          expect(takes(app, request(other, signedHeaders(app, body, { now: NOW })))).toBe(false);
        }
      }),
    );
  });

  it("are refused when they are missing, empty, or given twice [CH-HOOK-5]", () => {
    const headers = signedHeaders(app, "{}", { now: NOW });
    const value = headers[name] as string;
    for (const wrong of [undefined, "", " ", [value], [value, value], `${value}, ${value}`, `${value},`]) {
      expect(takes(app, request("{}", { ...headers, [name]: wrong }))).toBe(false);
    }
  });

  it("are never accepted in another spelling than their own [CH-HOOK-5]", () => {
    fc.assert(
      fc.property(mutation, (change) => {
        const headers = signedHeaders(app, "{}", { now: NOW });
        const mutated = mutate(headers[name] as string, change as [number, string, string]);
        fc.pre(mutated.toLowerCase() !== (headers[name] as string).toLowerCase());
        expect(takes(app, request("{}", { ...headers, [name]: mutated }))).toBe(false);
      }),
      { numRuns: 500 },
    );
  });

  it("are none where no secret is configured [CH-HOOK-4]", () => {
    const none = { channelSecret: undefined, signingSecret: undefined, appSecret: undefined };
    const bare = agentWith({ [app]: { ...SIGNED_CHANNELS[app], ...none } });
    const incoming = request("{}", signedHeaders(app, "{}", { secret: "undefined", now: NOW }));
    expect(WEBHOOKS[app].enabled(bare)).toBe(false);
    expect(accepts(WEBHOOKS[app], incoming, bare, NOW)).toBe(false);
    expect(WEBHOOKS[app].enabled(agentWith({}))).toBe(false);
    expect(WEBHOOKS[app].enabled(agentWith({ [app]: { ...SIGNED_CHANNELS[app], enabled: false } }))).toBe(
      false,
    );
    expect(WEBHOOKS[app].enabled(agent)).toBe(true);
  });
});

describe("a hex signature", () => {
  it.each(["teamchat", "cloudchat"] as const)("of %s is taken in either case [CH-HOOK-6]", (app) => {
    const headers = signedHeaders(app, "{}", { now: NOW });
    const [scheme, hex] = (headers[SIGNATURE_HEADER[app]] as string).split("=") as [string, string];
    expect(
      takes(app, request("{}", { ...headers, [SIGNATURE_HEADER[app]]: `${scheme}=${hex.toUpperCase()}` })),
    ).toBe(true);
    expect(takes(app, request("{}", { ...headers, [SIGNATURE_HEADER[app]]: hex }))).toBe(false);
  });
});

describe("the real services' header names", () => {
  it("are taken beside the documented ones [CH-HOOK-7]", () => {
    const line = signedHeaders("sigchat", "{}");
    const slack = signedHeaders("teamchat", "{}", { now: NOW });
    const real = {
      "x-slack-signature": slack["x-teamchat-signature"],
      "x-slack-request-timestamp": slack["x-teamchat-request-timestamp"],
    };
    expect(takes("sigchat", request("{}", { "x-line-signature": line["x-sigchat-signature"] }))).toBe(true);
    expect(takes("teamchat", request("{}", real))).toBe(true);
    expect(takes("teamchat", request("{}", { ...real, ...slack }))).toBe(true);
    const forged = "0".repeat(64);
    expect(takes("teamchat", request("{}", { ...real, "x-teamchat-signature": `v0=${forged}` }))).toBe(false);
  });
});

describe("the time of a request to teamchat", () => {
  const at = (seconds: number) => {
    const time = String(Math.floor(NOW / 1000) + seconds);
    return takes("teamchat", request("{}", signedHeaders("teamchat", "{}", { now: Number(time) * 1000 })));
  };

  it("may be five minutes off and no more [CH-HOOK-8]", () => {
    expect([-300, -299, 0, 299, 300].map(at)).toEqual([true, true, true, true, true]);
    expect([-360, -301, 301, 360, 1e9].map(at)).toEqual([false, false, false, false, false]);
  });

  it("is whole seconds in digits [CH-HOOK-8]", () => {
    const now = Math.floor(NOW / 1000);
    for (const time of [
      `${now}.0`,
      `+${now}`,
      ` ${now}`,
      `${now}e0`,
      "NaN",
      "",
      "-1",
      `${now}, ${now}`,
      `0x${now.toString(16)}`,
    ]) {
      const hex = createHmac("sha256", SECRETS.teamchat).update(`v0:${time}:{}`).digest("hex");
      const headers = { "x-teamchat-request-timestamp": time, "x-teamchat-signature": `v0=${hex}` };
      expect(takes("teamchat", request("{}", headers))).toBe(false);
    }
  });
});

describe("the providers' own verifiers", () => {
  it("agree on LINE's signatures, valid and mutated [CH-HOOK-5]", () => {
    fc.assert(
      fc.property(fc.string({ minLength: 1 }), mutation, fc.boolean(), (body, change, mutated) => {
        const right = signedHeaders("sigchat", body)["x-sigchat-signature"] as string;
        const signature = mutated ? mutate(right, change as [number, string, string]) : right;
        const ours = takes("sigchat", request(body, { "x-line-signature": signature }));
        if (ours) expect(validateSignature(body, SECRETS.sigchat, signature)).toBe(true);
        // Theirs overlooks what no base64 has; the canonical spelling must be judged alike.
        const canonical = Buffer.from(signature, "base64").toString("base64") === signature;
        if (canonical) expect(ours).toBe(validateSignature(body, SECRETS.sigchat, signature));
      }),
      { numRuns: 1000 },
    );
  });

  it("agree on Slack's signatures, valid and mutated [CH-HOOK-5, CH-HOOK-8]", () => {
    const offset = fc.oneof(fc.integer({ min: -400, max: 0 }), fc.constantFrom(-301, -300, -299));
    fc.assert(
      fc.property(
        fc.string({ minLength: 1 }),
        offset,
        mutation,
        fc.boolean(),
        (body, seconds, change, mutated) => {
          const signed = signedHeaders("teamchat", body, { now: NOW + seconds * 1000 });
          const right = signed["x-teamchat-signature"] as string;
          const signature = mutated ? mutate(right, change as [number, string, string]) : right;
          const time = Number(signed["x-teamchat-request-timestamp"]);
          const headers = { "x-slack-signature": signature, "x-slack-request-timestamp": String(time) };
          const ours = takes("teamchat", request(body, headers));
          const theirs = (value: string) =>
            isValidSlackRequest({
              signingSecret: SECRETS.teamchat,
              body,
              headers: { "x-slack-signature": value, "x-slack-request-timestamp": time },
              nowMilliseconds: NOW,
            });
          if (ours) expect(theirs(signature.toLowerCase())).toBe(true);
          if (/^v0=[0-9a-f]{64}$/.test(signature)) expect(ours).toBe(theirs(signature));
        },
      ),
      { numRuns: 1000 },
    );
  });
});
