package ui_test

import "fmt"

// enough is the contrast that text has to have (WCAG 2.1, 1.4.3).
const enough = 4.5

// look says how bright the page's text and ground are, from 0 to 1, and which texts have too little contrast. A text stands on the nearest ground below
// it that is not transparent; what is see-through itself mixes with that.
const look = `((enough) => {
	const channels = (colour) => colour.match(/[\d.]+/g).map(Number);
	const linear = (c) => ((c /= 255) <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
	const luminance = ([r, g, b]) => 0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b);
	const ground = (e) => {
		for (; e; e = e.parentElement) {
			const c = channels(getComputedStyle(e).backgroundColor);
			if (c.length === 3 || c[3] > 0) return c;
		}
		return [255, 255, 255];
	};
	const opacity = (e) => (e ? getComputedStyle(e).opacity * opacity(e.parentElement) : 1);
	const contrast = (e) => {
		const below = ground(e), part = opacity(e), text = channels(getComputedStyle(e).color).slice(0, 3).map((c, i) => part * c + (1 - part) * below[i]);
		const [dark, light] = [luminance(text), luminance(below)].sort((a, b) => a - b);
		return (light + 0.05) / (dark + 0.05);
	};
	const faint = new Set(), walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
	let seen = 0;
	while (walk.nextNode()) {
		const e = walk.currentNode.parentElement, text = walk.currentNode.textContent.trim();
		if (!text || !e.getClientRects().length) continue;
		seen++;
		const has = contrast(e);
		if (has < enough) faint.add(e.localName + "." + e.className + " " + JSON.stringify(text.slice(0, 40)) + " has " + has.toFixed(2));
	}
	return { text: luminance(channels(getComputedStyle(document.body).color)), ground: luminance(ground(document.body)), seen, faint: [...faint] };
})`

// legible wants the page to have the colours of a scheme, and every text on it enough contrast.
func (b *tab) legible(name, scheme string) {
	b.t.Helper()
	got := eval[struct {
		Text, Ground float64
		Seen         int
		Faint        []string
	}](b, fmt.Sprintf("(%s)(%v)", look, enough))
	if light := got.Ground > got.Text; light != (scheme == "light") {
		b.t.Errorf("%s: in the %s scheme the text has brightness %.2f, and its ground %.2f", name, scheme, got.Text, got.Ground)
	}
	if len(got.Faint) > 0 || got.Seen == 0 {
		b.t.Errorf("%s: in the %s scheme, of %d texts too little contrast have %q", name, scheme, got.Seen, got.Faint)
	}
}
