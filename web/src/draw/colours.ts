// colours.ts -- a colour for each of the first modules, told apart by people with any kind of colour vision as
// well as eight hues can be, and readable under black or white text.
// SPDX-License-Identifier: Apache-2.0

// Okabe and Ito's hues, lightened for use as a background.
const LIGHT = ["#f3b64c", "#7cc4ee", "#5cc9a5", "#efe374", "#7fa8dc", "#ec8f56", "#dca6c8", "#b9bec6"];
const DARK = ["#8a5a00", "#1d5f87", "#00694c", "#7a7000", "#2a4f86", "#8f3f08", "#7d4468", "#50555d"];

export function isPrinting(): boolean {
  return document.documentElement.classList.contains("printing");
}

/** Paper is light. */
export function isDark(): boolean {
  return matchMedia("(prefers-color-scheme: dark)").matches && !isPrinting();
}

const PAPER = 700; // pixels that go across a page of paper

/** How wide a picture is to be drawn in an element: a page of paper is not as wide as the window. */
export function drawingWidth(element: HTMLElement): number {
  return isPrinting() ? Math.min(PAPER, element.clientWidth) : element.clientWidth;
}

/** How many modules have a colour of their own; the others share the last one. */
export const OWN_COLOURS = LIGHT.length - 1;

/** By a module's place among all of them. */
export function moduleColour(rank: number, dark = isDark()): string {
  const hues = dark ? DARK : LIGHT;
  return hues[rank < 0 ? OWN_COLOURS : Math.min(rank, OWN_COLOURS)]!;
}

/** A colour of the style sheet. */
export function cssColour(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

const STRENGTHS = 24; // steps that cannot be told apart: a picture of few colours is drawn faster

function shadesOf(hue: number, dark: boolean): string[] {
  return Array.from({ length: STRENGTHS + 1 }, (_, i) => {
    const strength = i / STRENGTHS;
    const lightness = dark ? 22 + 22 * strength : 94 - 34 * strength;
    return `hsl(${hue} ${Math.round(30 + 60 * strength)}% ${Math.round(lightness)}%)`;
  });
}

const SHADES = [false, true].map((dark) => ({ shrunk: shadesOf(215, dark), grown: shadesOf(28, dark) }));

/** For changes: blue shrinks, orange grows; the stronger the larger. */
export function changeColour(share: number, dark = isDark()): string {
  const { shrunk, grown } = SHADES[dark ? 1 : 0]!;
  return (share < 0 ? shrunk : grown)[Math.ceil(STRENGTHS * Math.min(1, Math.sqrt(Math.abs(share))))]!;
}
