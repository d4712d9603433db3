import { route } from "../route.ts";
import {
  addConnector as addBody,
  addedConnector,
  connectConnector as connectBody,
  connectorList,
  connectorParams,
  connectorState,
  connectorStatus,
  receiveConnector as receiveBody,
  removeQuery,
  testedConnector,
  updateConnector as updateBody,
} from "../schemas/connectors.ts";

export const listConnectors = route({
  method: "GET",
  path: "/api/v1/connectors",
  auth: "key",
  summary: "List the connectors: what is connected, and what is missing.",
  tag: "connectors",
  responses: { 200: connectorList },
  cli: { noun: "connectors", verb: "list" },
});

export const showConnector = route({
  method: "GET",
  path: "/api/v1/connectors/:id/status",
  auth: "key",
  summary: "Tell whether a connector is connected.",
  tag: "connectors",
  params: connectorParams,
  responses: { 200: connectorStatus },
  errors: ["NOT_FOUND"],
  cli: { noun: "connectors", verb: "status", args: ["id"] },
});

export const addConnector = route({
  method: "POST",
  path: "/api/v1/connectors/custom",
  auth: "admin",
  summary: "Add a connector: an MCP server that agents can use.",
  tag: "connectors",
  stores: true,
  body: addBody,
  responses: { 201: addedConnector },
  errors: ["CONFLICT"],
  cli: { noun: "connectors", verb: "add", args: ["label"] },
});

export const updateConnector = route({
  method: "PATCH",
  path: "/api/v1/connectors/:id",
  auth: "admin",
  summary: "Change a connector; secrets that it no longer needs are removed.",
  tag: "connectors",
  params: connectorParams,
  body: updateBody,
  responses: { 200: connectorStatus },
  errors: ["NOT_FOUND", "CONFLICT"],
  cli: { noun: "connectors", verb: "update", args: ["id"] },
});

export const connectConnector = route({
  method: "POST",
  path: "/api/v1/connectors/:id/connect",
  auth: "admin",
  summary: "Store secrets of a connector.",
  tag: "connectors",
  stores: true,
  params: connectorParams,
  body: connectBody,
  responses: { 200: connectorState },
  errors: ["NOT_FOUND"],
  cli: { noun: "connectors", verb: "connect", args: ["id"] },
});

export const receiveConnector = route({
  method: "POST",
  path: "/api/v1/connectors/:id/oauth/receive",
  auth: "admin",
  summary: "Add or replace a connector whose access token another program holds and keeps fresh.",
  tag: "connectors",
  stores: true,
  params: connectorParams,
  body: receiveBody,
  responses: { 200: connectorState },
  errors: ["CONFLICT"],
});

export const testConnector = route({
  method: "POST",
  path: "/api/v1/connectors/:id/test",
  auth: "admin",
  summary: "Connect to a connector as an agent's session would, and list its tools.",
  tag: "connectors",
  params: connectorParams,
  responses: { 200: testedConnector },
  errors: ["NOT_FOUND"],
  cli: { noun: "connectors", verb: "test", args: ["id"] },
});

export const removeConnector = route({
  method: "DELETE",
  path: "/api/v1/connectors/:id",
  auth: "admin",
  summary: "Disconnect a connector, and remove it if nothing would be left of it or `remove` is true.",
  tag: "connectors",
  params: connectorParams,
  query: removeQuery,
  responses: { 200: connectorState },
  errors: ["NOT_FOUND", "CONFLICT"],
  cli: { noun: "connectors", verb: "remove", args: ["id"] },
});
