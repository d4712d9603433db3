import { again } from "./again.ts";

await again(() => import("../sessions.test.ts"));
