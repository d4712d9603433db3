import * as z from "zod";
import { route } from "../route.ts";
import {
  agent,
  agentReply,
  createAgent as createBody,
  greetingText,
  model,
  setModel as setModelBody,
  updateAgent as updateBody,
} from "../schemas/agents.ts";
import { agentParams } from "../schemas/common.ts";

export const listAgents = route({
  method: "GET",
  path: "/api/v1/agents",
  auth: "key",
  summary: "List the agents that the key can reach.",
  tag: "agents",
  responses: { 200: () => z.object({ agents: z.array(agent()) }) },
  cli: { noun: "agents", verb: "list" },
});

export const createAgent = route({
  method: "POST",
  path: "/api/v1/agents",
  auth: "admin",
  summary: "Add an agent to the configuration and start serving it.",
  tag: "agents",
  stores: true,
  body: createBody,
  responses: { 201: agentReply },
  errors: ["CONFLICT"],
  cli: { noun: "agents", verb: "create", args: ["id"] },
});

export const getAgent = route({
  method: "GET",
  path: "/api/v1/agents/:agentId",
  auth: "key",
  summary: "Show one agent.",
  tag: "agents",
  params: agentParams,
  anyGateway: true,
  responses: { 200: agentReply },
  cli: { noun: "agents", verb: "get", args: ["agentId"] },
});

export const updateAgent = route({
  method: "PATCH",
  path: "/api/v1/agents/:agentId",
  auth: "write",
  summary: "Change fields of an agent; other fields stay as they are.",
  tag: "agents",
  params: agentParams,
  anyGateway: true,
  body: updateBody,
  responses: { 200: agentReply },
  errors: ["CONFLICT", "UPSTREAM_UNAVAILABLE"],
  cli: { noun: "agents", verb: "update", args: ["agentId"] },
});

export const deleteAgent = route({
  method: "DELETE",
  path: "/api/v1/agents/:agentId",
  auth: "admin",
  summary: "Remove an agent from the configuration; its workspace and history stay on disk.",
  tag: "agents",
  params: agentParams,
  responses: { 200: () => z.object({ deleted: z.literal(true), id: z.string() }) },
  cli: { noun: "agents", verb: "delete", args: ["agentId"] },
});

export const getGreeting = route({
  method: "GET",
  path: "/api/v1/agents/:agentId/greeting",
  auth: "write",
  summary: "Show the agent's one-shot greeting file.",
  tag: "agents",
  params: agentParams,
  responses: { 200: greetingText },
  cli: { noun: "agents", verb: "greeting", args: ["agentId"] },
});

export const setGreeting = route({
  method: "PUT",
  path: "/api/v1/agents/:agentId/greeting",
  auth: "write",
  summary: "Replace the agent's one-shot greeting file; an empty text removes it.",
  tag: "agents",
  stores: true,
  params: agentParams,
  body: greetingText,
  responses: { 200: greetingText },
  errors: ["CONFLICT"],
  cli: { noun: "agents", verb: "set-greeting", args: ["agentId", "text"] },
});

export const listModels = route({
  method: "GET",
  path: "/api/v1/models",
  auth: "key",
  summary: "List the available models: the live catalogue, or else the configured list.",
  tag: "models",
  responses: { 200: () => z.object({ models: z.array(model()) }) },
  cli: { noun: "models", verb: "list" },
});

export const setAgentModel = route({
  method: "PUT",
  path: "/api/v1/agents/:agentId/model",
  auth: "admin",
  summary: "Set an agent's model in the configuration.",
  tag: "models",
  params: agentParams,
  body: setModelBody,
  responses: { 200: () => z.object({ model: z.string() }) },
  errors: ["CONFLICT"],
  cli: { noun: "models", verb: "set", args: ["agentId", "model"] },
});
