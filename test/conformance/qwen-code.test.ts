import { describeAcpProgram } from "./acp-program.ts";

await describeAcpProgram({
  spec: "@qwen-code/qwen-code@0.24.4",
  args: ["--acp"],
  setUp: async (url) => ({
    OPENAI_API_KEY: "fake-key",
    OPENAI_BASE_URL: `${url}/v1`,
    // Qwen Code sends images to models alone whose names it knows for that.
    OPENAI_MODEL: "gpt-4o",
  }),
  shell: (command) =>
    `TOOL run_shell_command ${JSON.stringify({ command, description: "test", is_background: false })}`,
  writer: (path) => `TOOL write_file ${JSON.stringify({ file_path: path, content: "x" })}`,
  shellTool: "run_shell_command",
  share: "mcp__gateway__share_file",
  image: { path: "/v1/chat/completions", mark: /"type":"image_url"/ },
  resumes: true,
});
