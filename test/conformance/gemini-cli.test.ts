import { describeAcpProgram } from "./acp-program.ts";

await describeAcpProgram({
  spec: "@google/gemini-cli@0.61.0",
  args: ["--acp"],
  setUp: async (url) => ({
    GEMINI_API_KEY: "fake-key",
    GOOGLE_GEMINI_BASE_URL: url,
    GEMINI_TELEMETRY_ENABLED: "false",
  }),
  shell: (command) => `TOOL run_shell_command ${JSON.stringify({ command, description: "test" })}`,
  writer: (path) => `TOOL write_file ${JSON.stringify({ file_path: path, content: "x" })}`,
  shellTool: "run_shell_command",
  share: "mcp_gateway_share_file",
  wholeServers: false,
  image: { path: "streamGenerateContent", mark: /"inlineData"/ },
  resumes: false,
});
