import { again } from "./again.ts";

await again(() => import("../turns.test.ts"));
