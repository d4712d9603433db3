// SSE: delay of the first delta, and the rate of 20,000 deltas to one and to 20 readers, against a bare SSE writer.
import http from "node:http";
import { barePipe, call, KEY, ms, quantile, report, rssMb, withGateway } from "./lib.mjs";

const DELTAS = 20_000;
const PATH = "/api/v1/agents/assistant/messages";

/** The bare limit: a server that writes the same frames, one write each, waiting for `drain`. */
async function bareServer() {
  const server = http.createServer(async (req, res) => {
    req.resume();
    res.writeHead(200, { "content-type": "text/event-stream" });
    for (let seq = 1; seq <= DELTAS; seq++) {
      const frame = `id: ${seq}\ndata: ${JSON.stringify({ type: "text_delta", text: `d${seq} `, seq, request_id: "0b0b0b0b-0000-4000-8000-000000000000" })}\n\n`;
      if (!res.write(frame)) await new Promise((resolve) => res.once("drain", resolve));
    }
    res.end("data: [DONE]\n\n");
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  return { url: `http://127.0.0.1:${server.address().port}`, close: () => server.close() };
}

const read = async (url, path, options) => {
  let bytes = 0;
  const began = performance.now();
  await call(url, path, {
    ...options,
    onChunk: (chunk) => {
      bytes += chunk.length;
    },
  });
  return { bytes, ms: performance.now() - began };
};

await withGateway({}, async ({ url, pid }) => {
  const first = JSON.parse(
    (await call(url, PATH, { method: "POST", body: { message: "hi", chat_id: "s" } })).text,
  );
  const body = (message) => ({ message, chat_id: "s", session_id: first.session_id, stream: true });

  // The agent writes the time at which it wrote the delta.
  const delays = [];
  for (let turn = 0; turn < 200; turn++) {
    let seen;
    await call(url, PATH, {
      method: "POST",
      body: body("NOW"),
      onChunk: (chunk) => {
        if (seen) return;
        const match = /"text":"(\d+\.\d+)/.exec(chunk.toString());
        if (match) {
          seen = true;
          delays.push(performance.timeOrigin + performance.now() - Number(match[1]));
        }
      },
    });
  }
  report(
    "first delta after the agent wrote it, p50",
    ms(quantile(delays, 0.5)),
    "<= 1 ms",
    quantile(delays, 0.5) <= 1,
  );

  const bare = await bareServer();
  const pipe = barePipe();
  const [plain, piped, ours] = [[], [], []];
  // The first rounds only let each side's code be compiled.
  for (let round = 0; round < 12; round++) {
    if (round === 5) for (const times of [plain, piped, ours]) times.length = 0;
    plain.push((await read(bare.url, "/", {})).ms);
    const began = performance.now();
    await pipe.turn(`DELTAS ${DELTAS}`);
    piped.push(performance.now() - began);
    ours.push((await read(url, PATH, { method: "POST", body: body(`DELTAS ${DELTAS}`) })).ms);
  }
  const rate = (times) => DELTAS / (quantile(times, 0.5) / 1000);
  report(
    "20,000 deltas to one reader",
    `${rate(ours).toFixed(0)}/s, bare writer ${rate(plain).toFixed(0)}/s, ${((rate(ours) / rate(plain)) * 100).toFixed(0)} % (the agent's own pipe: ${rate(piped).toFixed(0)}/s)`,
    ">= 40 %",
    rate(ours) >= 0.4 * rate(plain),
  );

  const twenty = async (open) => {
    const began = performance.now();
    await Promise.all(Array.from({ length: 20 }, (_, index) => open(index)));
    return performance.now() - began;
  };
  const bare20 = await twenty(() => read(bare.url, "/", {}));
  const stream = `/api/v1/agents/assistant/sessions/${first.session_id}/stream?chat_id=s`;
  const before = await rssMb(pid);
  // One reader never reads: it must cost the others nothing.
  const stalled = http.request(`${url}${stream}`, { headers: { "x-api-key": KEY } }, (res) => res.pause());
  const ours20 = await twenty(async (index) => {
    if (index === 0) {
      setTimeout(() => stalled.end(), 20);
      return read(url, PATH, { method: "POST", body: body(`DELTAS ${DELTAS}`) });
    }
    await new Promise((resolve) => setTimeout(resolve, 20));
    return read(url, stream, {});
  });
  const after = await rssMb(pid);
  stalled.destroy();
  report(
    "20,000 deltas to 20 readers, one stalled",
    `${((bare20 / ours20) * 100).toFixed(0)} % of the bare writer, memory +${(after - before).toFixed(0)} MB`,
    ">= 40 %, memory within the turn's cap",
    bare20 / ours20 >= 0.4 && after - before < 60,
  );
  await pipe.close();
  bare.close();
});
