import { describeAcpProgram } from "./acp-program.ts";

await describeAcpProgram({
  spec: "opencode-ai@1.18.33",
  args: ["acp"],
  setUp: async (url) => ({
    OPENCODE_DISABLE_AUTOUPDATE: "1",
    OPENCODE_DISABLE_MODELS_FETCH: "1",
    OPENCODE_CONFIG_CONTENT: JSON.stringify({
      model: "fake/fake-model",
      small_model: "fake/fake-model",
      provider: {
        fake: {
          npm: "@ai-sdk/openai-compatible",
          options: { baseURL: `${url}/v1`, apiKey: "fake-key" },
          models: {
            "fake-model": { attachment: true, modalities: { input: ["text", "image"], output: ["text"] } },
            "other-model": {},
          },
        },
      },
    }),
  }),
  shell: (command) => `TOOL bash ${JSON.stringify({ command, description: "test" })}`,
  writer: (path) => `TOOL write ${JSON.stringify({ filePath: path, content: "x" })}`,
  shellTool: "bash",
  share: "gateway_share_file",
  image: { path: "/v1/chat/completions", mark: /"type":"image_url"/ },
  resumes: true,
});
