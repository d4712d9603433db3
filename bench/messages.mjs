// A million messages to import: made up, always the same, with words that stand in 10, 33 and 60 % of them.
import http from "node:http";
import { Readable } from "node:stream";
import { KEY } from "./lib.mjs";

const WORDS =
  "the of and to in is you that it he was for on are as with his they at be this have from or one had by word but not what all were we when your can said there use an each which she do how their if will up other about out many then them these so some her would make like him into time has look two more write go see number no way could people my than first water been call who oil its now find long down day did get come made may part".split(
    " ",
  );
const THAI = "สวัสดี ขอบคุณ กรุงเทพ อาหาร ประเทศไทย โรงเรียน ภาษา วันนี้ ทำงาน เพื่อน น้ำ".split(" ");
const HAN = "日本語 中国 会議 東京 学校 時間 今日 天気 問題 北京 上海 世界 電話 明日".split(" ");

function texts() {
  let state = 12345;
  const pick = (list) => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fff_ffff;
    return list[state % list.length];
  };
  return (index) => {
    const words = Array.from({ length: 10 + (index % 25) }, () => pick(WORDS));
    if (index % 3 === 0) words.splice(3, 0, "project");
    if (index % 10 === 1) words.push(pick(THAI) + pick(THAI));
    if (index % 10 === 2) words.push(pick(HAN) + pick(HAN) + pick(HAN));
    if (index % 10 === 3) words.push("invoice");
    if (index % 5 < 3) words.push("meeting");
    if (index % 5000 === 7) words.push("zebrafish");
    return `${words.join(" ")} n${index.toString(36)}`;
  };
}

function* lines(chatId, count, series) {
  const text = texts();
  let out = "";
  for (let index = 0; index < count; index++) {
    const session = `00000000-0000-4000-800${series}-${String(Math.floor(index / 1000)).padStart(12, "0")}`;
    const role = index % 2 ? "assistant" : "user";
    const ts = 1_600_000_000_000 + index * 1000;
    out += `${JSON.stringify({ chatId, sessionId: session, sessionName: "bench", role, content: text(index), ts })}\n`;
    if (out.length > 100_000) {
      yield out;
      out = "";
    }
  }
  yield out;
}

/** Imports `count` messages into one chat; `series` (a digit) keeps the session ids of chats apart. */
export function importMessages(url, chatId, count, series = 0) {
  return new Promise((resolve, reject) => {
    const req = http.request(`${url}/api/v1/agents/assistant/history/import`, {
      method: "POST",
      headers: { "x-api-key": KEY, "content-type": "application/x-ndjson" },
    });
    req.once("error", reject);
    req.once("response", async (res) => {
      const text = Buffer.concat(await res.toArray()).toString();
      if (res.statusCode === 200) resolve(JSON.parse(text));
      else reject(new Error(`${res.statusCode}: ${text}`));
    });
    Readable.from(lines(chatId, count, series), { objectMode: false }).pipe(req);
  });
}
