// What 300 more routes, each with schemas of its own, add to a start: prints milliseconds to declare and to route them.
import * as z from "zod";
import { lazy } from "../packages/contract/src/lazy.ts";
import { route } from "../packages/contract/src/route.ts";
import { createRouter } from "../packages/gateway/src/http/router.ts";

const COUNT = 300;
const eager = process.argv[2] === "eager";

function declare(prefix, count) {
  return Array.from({ length: count }, (_, index) => {
    const item = lazy(() => z.object({ id: z.string(), name: z.string().max(200), at: z.number() }));
    const body = lazy(() => z.object({ chat_id: z.string().min(1), item: item().optional(), n: z.number() }));
    const decl = route({
      method: "POST",
      path: `/api/v1/agents/:agentId/${prefix}-${index}/:itemId`,
      auth: "key",
      summary: "One of many.",
      tag: prefix,
      params: () => z.object({ agentId: z.string(), itemId: z.string() }),
      body,
      responses: { 200: () => z.object({ items: z.array(item()) }) },
    });
    if (eager) for (const make of [decl.params, decl.body, decl.responses[200]]) make();
    return { decl, handler: () => ({ handled: true }) };
  });
}

// The first few pay for what every start pays anyway.
createRouter(declare("warm", 5));
const began = performance.now();
const { find } = createRouter(declare("thing", COUNT));
const ms = performance.now() - began;
if (find("POST", "/api/v1/agents/a/thing-299/1").params.itemId !== "1")
  throw new Error("the route is not found");
console.log(ms.toFixed(2));
