import { render } from "preact";
import "./style/index.css";
import { Page } from "./layout/Page";
import { findFirst } from "./state/first";
import { listenToKeys } from "./state/keys";
import { followLive } from "./state/live";
import { followPause } from "./state/pause";
import { followTitle } from "./state/title";
import { followRun, loadRunsInTime } from "./state/run";

followRun();
findFirst();
followLive();
followPause();
listenToKeys();
followTitle();
loadRunsInTime();
render(<Page />, document.getElementById("page") as HTMLElement);
