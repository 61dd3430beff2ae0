// flamegraph.js -- search, zoom and flip in an exported flame graph. Runs: in the browser that shows
// the SVG, of which flamegraph.c makes it a part.
// SPDX-License-Identifier: Apache-2.0
"use strict";
(() => {
	const SVG = "http://www.w3.org/2000/svg";
	const HTML = "http://www.w3.org/1999/xhtml";
	const svg = document.documentElement;
	const setting = (name) => Number(svg.dataset[name]);
	const left = setting("left"), width = setting("width");
	const top = setting("top"), row = setting("row"), rows = setting("rows");
	const character = setting("character"), margin = setting("margin");
	const total = BigInt(svg.dataset.total);
	const details = document.getElementById("details");
	const matched = document.getElementById("matched");

	// The frames are in the order of a walk from the root: what comes after a frame and lies deeper
	// is above it in the stack.
	const frames = Array.from(document.querySelectorAll("g.f"), (group) => {
		const rect = group.querySelector("rect");
		const title = group.querySelector("title").textContent;
		const y = Number(rect.getAttribute("y"));
		return {
			group, rect, title, y,
			text: group.querySelector("text"),
			name: title.split("\n", 1)[0],
			x: Number(rect.getAttribute("x")),
			width: Number(rect.getAttribute("width")),
			depth: Math.round((y - top) / row),
			value: BigInt(group.dataset.v),
		};
	});
	let zoomed = 0;
	let flipped = false;

	function endOf(index) {
		let end = index + 1;
		while (end < frames.length && frames[end].depth > frames[index].depth) end++;
		return end;
	}

	function fit(name, room) {
		const letters = Array.from(name);
		const count = Math.floor((room - 2 * margin) / character);
		if (count < 3) return "";
		return letters.length <= count ? name : letters.slice(0, count - 2).join("") + "..";
	}

	function place(frame, x, room) {
		const y = flipped ? 2 * top + (rows - 1) * row - frame.y : frame.y;
		const label = fit(frame.name, room);
		frame.group.style.display = "";
		frame.rect.setAttribute("x", x);
		frame.rect.setAttribute("y", y);
		frame.rect.setAttribute("width", room);
		if (label && !frame.text) {
			frame.text = document.createElementNS(SVG, "text");
			frame.group.append(frame.text);
		}
		if (!frame.text) return;
		frame.text.textContent = label;
		frame.text.setAttribute("x", x + margin);
		frame.text.setAttribute("y", y + row - 5);
	}

	function show() {
		const chosen = frames[zoomed];
		const end = endOf(zoomed);
		const scale = chosen.width > 0 ? width / chosen.width : 1;
		let depth = chosen.depth;
		for (let i = frames.length - 1; i >= 0; i--) {
			const frame = frames[i];
			const below = i < zoomed && frame.depth < depth;
			frame.group.classList.toggle("below", below);
			if (i >= zoomed && i < end) {
				place(frame, left + (frame.x - chosen.x) * scale, frame.width * scale);
			} else if (below) {
				depth = frame.depth;
				place(frame, left, width);
			} else {
				frame.group.style.display = "none";
			}
		}
	}

	function zoom(index) {
		zoomed = index;
		show();
	}

	function matcher(words) {
		try {
			const pattern = new RegExp(words, "iu");
			return (name) => pattern.test(name);
		} catch {
			const wanted = words.toLowerCase();
			return (name) => name.toLowerCase().includes(wanted);
		}
	}

	// A frame that is found counts with all that lies on it; what is found there does not count again.
	function search(words) {
		const matches = words ? matcher(words) : () => false;
		let sum = 0n, count = 0, counted = 0;
		frames.forEach((frame, i) => {
			const hit = matches(frame.name);
			frame.group.classList.toggle("hit", hit);
			if (!hit) return;
			count++;
			if (i < counted) return;
			counted = endOf(i);
			sum += frame.value;
		});
		const share = total ? Number(sum * 1000000n / total) / 10000 : 0;
		matched.textContent = words
			? `${count} found: ${sum.toLocaleString("en")} ${svg.dataset.unit}, ${share.toFixed(2)} %`
			: "";
	}

	function control(tag, properties) {
		const element = Object.assign(document.createElementNS(HTML, tag), properties);
		element.style.font = "12px sans-serif";
		return element;
	}

	function addControls() {
		const box = document.createElementNS(SVG, "foreignObject");
		const bar = document.createElementNS(HTML, "div");
		const words = control("input", {
			id: "search", type: "search", placeholder: "search (regular expression)",
		});
		words.style.width = "200px";
		words.addEventListener("input", () => search(words.value));
		const reset = control("button", { id: "reset", textContent: "reset zoom" });
		reset.addEventListener("click", () => zoom(0));
		const flip = control("button", { id: "flip", textContent: "flip" });
		flip.addEventListener("click", () => {
			flipped = !flipped;
			show();
		});
		bar.style.textAlign = "right";
		bar.append(words, " ", reset, " ", flip);
		Object.entries({ x: left + width - 440, y: 6, width: 440, height: 28 })
			.forEach(([name, value]) => box.setAttribute(name, value));
		box.append(bar);
		svg.append(box);
	}

	frames.forEach((frame, i) => {
		frame.group.addEventListener("click", () => zoom(i));
		frame.group.addEventListener("mouseenter", () => {
			details.textContent = frame.title.replaceAll("\n", "   ").slice(0, 170);
		});
		frame.group.addEventListener("mouseleave", () => {
			details.textContent = "";
		});
	});
	if (frames.length) addControls();
	addEventListener("keydown", (event) => {
		if (event.key === "Escape" && frames.length) zoom(0);
	});
})();
