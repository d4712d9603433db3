import { expect, it } from "vitest";
import { postgresStore, withoutPostgres } from "../fixtures/postgres.ts";
import { tcpProxy } from "../fixtures/tcp-proxy.ts";
import { startGateway, until } from "../harness.ts";

it.skipIf(withoutPostgres())(
  "a gateway that starts before its Postgres waits for it (needs Postgres) [STORE-AWAY-3]",
  async () => {
    const url = new URL((await postgresStore()).url);
    await using proxy = await tcpProxy(Number(url.port));
    proxy.cut();
    url.port = String(proxy.port);
    const starting = startGateway({ env: { GATEWAY_STORE_URL: url.href } });
    await until(() => proxy.refused >= 2, "a second try");
    proxy.heal();
    await using gateway = await starting;
    expect((await gateway.send("hello")).status).toBe(200);
  },
);
