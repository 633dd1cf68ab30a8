import { render } from "preact";

render(<main>tensorsleuth</main>, document.getElementById("page") as HTMLElement);
