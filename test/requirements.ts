import { channelsAccess } from "./requirements/channels-access.ts";
import { channelsBotchat } from "./requirements/channels-botchat.ts";
import { channelsCloudchat } from "./requirements/channels-cloudchat.ts";
import { channelsConfig } from "./requirements/channels-config.ts";
import { channelsDevicechat } from "./requirements/channels-devicechat.ts";
import { channelsFiles } from "./requirements/channels-files.ts";
import { channelsFlow } from "./requirements/channels-flow.ts";
import { channelsGuildchat } from "./requirements/channels-guildchat.ts";
import { channelsOutcome } from "./requirements/channels-outcome.ts";
import { channelsRender } from "./requirements/channels-render.ts";
import { channelsSigchat } from "./requirements/channels-sigchat.ts";
import { channelsTeamchat } from "./requirements/channels-teamchat.ts";
import { channelsWaiting } from "./requirements/channels-waiting.ts";
import { channelsWebhooks } from "./requirements/channels-webhooks.ts";
import { core } from "./requirements/core.ts";
import { page } from "./requirements/page.ts";
import { rooms } from "./requirements/rooms.ts";

/**
 * Every rule of the specification's finished areas, by id. A test cites the ids it proves in its title, as `[ID]`;
 * `requirements.test.ts` fails when one is cited by none.
 */
export const requirements: Readonly<Record<string, string>> = {
  ...core,
  ...rooms,
  ...page,
  ...channelsAccess,
  ...channelsBotchat,
  ...channelsCloudchat,
  ...channelsConfig,
  ...channelsDevicechat,
  ...channelsFiles,
  ...channelsFlow,
  ...channelsGuildchat,
  ...channelsOutcome,
  ...channelsRender,
  ...channelsSigchat,
  ...channelsTeamchat,
  ...channelsWaiting,
  ...channelsWebhooks,
};
