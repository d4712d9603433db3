import { join } from "node:path";
import { type ChannelsDeps, createChannels, imageFile, WEBHOOKS } from "./channels/index.ts";
import type { Config, Paths } from "./config/index.ts";
import { COMMANDS, mediaPathOf, parseCommand, type RunCommand } from "./sessions/index.ts";
import { publishStep } from "./steps.ts";
import { createWebhooks } from "./webhooks/index.ts";

interface Deps
  extends Omit<
    ChannelsDeps,
    | "parseCommand"
    | "commands"
    | "step"
    | "agents"
    | "publicUrl"
    | "journal"
    | "tempDir"
    | "attachment"
    | "runCommand"
  > {
  config(): Config;
  paths: Pick<Paths, "home" | "mediaDir">;
  runCommand: RunCommand;
}

/** The chat channels, and the entry point for their providers' webhooks. */
export function createAppChannels({ config, paths, runCommand, ...deps }: Deps) {
  const agents = () => config().agents;
  const channels = createChannels({
    ...deps,
    agents,
    parseCommand,
    commands: COMMANDS,
    step: publishStep,
    publicUrl: () => config().gateway.publicUrl,
    journal: join(paths.home, "run/sends"),
    tempDir: join(paths.home, "run/tmp"),
    attachment: (id, url) => imageFile(paths.mediaDir(id), mediaPathOf(id, url)),
    runCommand: async (entry, chatId, command, back) =>
      (await runCommand(entry, chatId, undefined, command, { back })).result,
  });
  const { receive, receipt, proven } = channels;
  const { clock, log } = deps;
  return {
    channels,
    webhooks: createWebhooks({ agents, channels: WEBHOOKS, receive, receipt, proven, clock, log }),
  };
}
