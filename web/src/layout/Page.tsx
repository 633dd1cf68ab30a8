/** The page: what it shows depends on whether there is a run at all. */
import { Verdict } from "../panels/verdict/Verdict";
import { runName } from "../state/name";
import { failure, run, runs } from "../state/run";
import { Announcer } from "./Announcer";
import { Banner } from "./Banner";
import { Grid } from "./Grid";
import { Header } from "./Header";
import { Help } from "./Help";
import { NoRun, NotRead } from "./NoRun";
import { PauseBar } from "./PauseBar";

export function Page() {
  return (
    <div class="page">
      <a class="skip" href="#" onClick={(event) => (event.preventDefault(), document.getElementById("tensors")?.focus())}>
        To the list of tensors
      </a>
      <Header />
      <Banner />
      <PauseBar />
      <main class="main">
        <Middle />
      </main>
      <Announcer />
      <Help />
    </div>
  );
}

function Middle() {
  if (failure.value && run.value === null) return <NotRead failure={failure.value} />;
  if (runName.value === null && runs.value?.length === 0) return <NoRun />;
  return (
    <>
      <Verdict />
      <Grid />
    </>
  );
}
