import { again } from "./again.ts";

await again(() => import("../channels-flow.test.ts"));
