import { expect, it, vi } from "vitest";

const made = vi.hoisted(() => ({ count: 0 }));
vi.mock("zod", async (original) => {
  const real = await original<Record<string, unknown>>();
  const counted = (make: (...args: unknown[]) => unknown) =>
    function counting(...args: unknown[]) {
      made.count++;
      return make(...args);
    };
  return Object.fromEntries(
    Object.entries(real).map(([name, value]) => [
      name,
      typeof value === "function" && /^[a-z]/.test(name) ? counted(value as never) : value,
    ]),
  );
});

it("builds no schema before one is asked for, and each only once [SPEED-1]", async () => {
  const { routeList, routes } = await import("@agent-gateway/contract");
  const { createRouter } = await import("../../../packages/gateway/src/http/router.ts");
  const { find } = createRouter(routeList.map((decl) => ({ decl, handler: () => ({ handled: true }) })));
  expect(find("GET", "/health").route.decl.path).toBe("/health");
  expect(routeList.length).toBeGreaterThan(80);
  expect(made.count).toBe(0);

  const body = routes.sendMessage.body();
  expect(made.count).toBeGreaterThan(10);
  const before = made.count;
  expect(routes.sendMessage.body()).toBe(body);
  expect(made.count).toBe(before);
});
