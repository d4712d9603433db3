import { again } from "./again.ts";

await again(() => import("../history.test.ts"));
