import { render } from "preact";
import "./state/theme";
import "./style/index.css";
import { followLive } from "./state/live";
import { followRun, loadRuns } from "./state/run";

followRun();
followLive();
void loadRuns();
render(<main>tensorsleuth</main>, document.getElementById("page") as HTMLElement);
