/** Wheel, drag and keys on the flame chart: as on the timeline. */
import { input } from "../timeline/stretch";
import { setView, view, whole } from "./state";

export const { key, wheel, drag, zoomIn, zoomOut, showAll } = input({ view, whole, setView });
