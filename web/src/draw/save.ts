// save.ts -- a text handed to the user as a file.
// SPDX-License-Identifier: Apache-2.0

import { plain } from "./dom.ts";

export function saveText(name: string, type: string, text: string): void {
  const url = URL.createObjectURL(new Blob([text], { type }));
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 1000);
}

export function csvCell(value: string | number): string {
  const text = String(value);
  // A name that begins like a formula must not be one in a spreadsheet.
  const safe = /^[=+\-@\t]/.test(text) && typeof value === "string" ? `'${text}` : text;
  return /[",\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

export function xmlText(text: string): string {
  return plain(text).replace(/[<>&"']/g, (c) => `&#${c.charCodeAt(0)};`);
}
