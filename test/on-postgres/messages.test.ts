import { again } from "./again.ts";

await again(() => import("../messages.test.ts"));
