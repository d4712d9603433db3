import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describeAcpProgram } from "./acp-program.ts";

await describeAcpProgram({
  spec: "@agentclientprotocol/codex-acp@2.6.0",
  args: [],
  async setUp(url, home) {
    const folder = join(home, "codex");
    await mkdir(folder);
    const config = [
      'model = "gpt-fake"',
      'model_provider = "fake"',
      "[model_providers.fake]",
      'name = "fake"',
      `base_url = "${url}/v1"`,
      'wire_api = "responses"',
      'env_key = "OPENAI_API_KEY"',
      "request_max_retries = 0",
      "stream_max_retries = 0",
    ];
    await writeFile(join(folder, "config.toml"), `${config.join("\n")}\n`);
    return { CODEX_HOME: folder, OPENAI_API_KEY: "fake-key" };
  },
  shell: (command) => `TOOL exec_command ${JSON.stringify({ cmd: command })}`,
  shellTool: "exec_command",
  image: { path: "/v1/responses", mark: /"type":"input_image"/ },
  resumes: true,
});
