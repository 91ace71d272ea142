// Which addresses a text may link to.

/** The address if it is safe to open, else `null`: no scripts, no data, nothing of this page itself. */
export function safeHref(href: string): string | null {
  // Browsers ignore control characters and spaces in a scheme, so they are looked through here as well.
  // eslint-disable-next-line no-control-regex
  const address = href.replace(/[\u0000-\u0020\u007f-\u009f\u00ad\u200b-\u200f\u2028-\u202e\ufeff]/g, "");
  try {
    const url = new URL(address);
    return ["http:", "https:", "mailto:"].includes(url.protocol) ? url.href : null;
  } catch {
    return null;
  }
}
