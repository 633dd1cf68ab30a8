/** Wheel, drag and keys on the timeline. */
import { setView, view, whole } from "./state";
import { input } from "./stretch";

export const { key, wheel, drag, zoomIn, zoomOut, showAll } = input({ view, whole, setView });
