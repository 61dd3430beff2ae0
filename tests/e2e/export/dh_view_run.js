// dh_view_run.js -- runs DHAT's own viewer on a file without a browser: its checks, its tree, its pages.
// SPDX-License-Identifier: Apache-2.0
//
// usage: node dh_view_run.js dh_view.js FILE
// Prints one JSON object: the sums at the root of the viewer's tree, and the page for each way of sorting.
// The document is a stand-in that can do what the viewer asks of it and no more.
"use strict";
const fs = require("fs");
const vm = require("vm");

class Element {
  constructor(tag) {
    this.tag = tag;
    this.childNodes = [];
    this.text = "";
  }
  appendChild(child) {
    child.parentNode = this;
    this.childNodes.push(child);
  }
  replaceChild(made, old) {
    made.parentNode = this;
    this.childNodes[this.childNodes.indexOf(old)] = made;
  }
  cloneNode() {
    return new Element(this.tag);
  }
  get selectedIndex() {
    return this.childNodes.findIndex((option) => option.selected);
  }
  set textContent(text) {
    this.text = text;
  }
  get textContent() {
    return this.text + this.childNodes.map((child) => child.textContent).join("");
  }
}

const document = {
  body: new Element("body"),
  location: { search: "" },
  createElement: (tag) => new Element(tag),
  createTextNode(text) {
    const node = new Element("text");
    node.textContent = text;
    return node;
  },
};

const [viewer, file] = process.argv.slice(2);
const page = vm.createContext({ document, performance, URLSearchParams, text: fs.readFileSync(file, "utf8") });
vm.runInContext(fs.readFileSync(viewer, "utf8"), page, { filename: viewer });
const shown = vm.runInContext(
  `onLoad();
   gFilename = "export";
   gData = JSON.parse(text);
   buildTree();
   const pages = {};
   for (const [i, option] of gSelect.childNodes.entries()) {
     if (option.disabled)
       continue;
     for (const other of gSelect.childNodes)
       other.selected = other === option;
     displayTree();
     pages[gSelectData[i].label()] = gMainDiv.textContent;
   }
   ({ root: gRoot, pages, points: gData.pps.length, frames: gData.ftbl })`,
  page,
);
const sums = {};
for (const name of ["totalBytes", "totalBlocks", "totalLifetimes", "atTGmaxBytes", "atTGmaxBlocks", "atTEndBytes", "atTEndBlocks"])
  sums[name] = shown.root["_" + name];
console.log(JSON.stringify({ sums, pages: shown.pages, points: shown.points, frames: shown.frames }));
