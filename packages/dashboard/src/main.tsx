import { render } from "preact";
import { App } from "./app/App.tsx";
import "./app/styles/base.css";
import "./app/styles/controls.css";
import "./app/styles/layout.css";
import "./app/styles/navigation.css";
import "./app/styles/chat.css";
import "./app/styles/steps.css";
import "./app/styles/composer.css";
import "./app/styles/markdown.css";
import "./app/styles/tables.css";
import "./app/styles/channels.css";
import { pageWith } from "./pages/index.ts";
import { start } from "./state/start.ts";

start(pageWith);
render(<App />, document.getElementById("app") as HTMLElement);
