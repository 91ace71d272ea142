// Builds the page into `dist`, which the program embeds. Names of files carry a hash of their contents and nothing
// else, so that the same sources give the same bytes.
import react from "@vitejs/plugin-react";
import { defineConfig, type Plugin } from "vite";

/** Browsers that run this page read WOFF2; the other two forms of each font would only make the program larger. */
function onlyWoff2(): Plugin {
  return {
    name: "only-woff2",
    enforce: "pre",
    transform(code, id) {
      if (!id.includes("katex") || !id.includes(".css")) return null;
      return code.replace(/,\s*url\([^)]*\.(?:woff|ttf)\)\s*format\([^)]*\)/g, "");
    },
  };
}

export default defineConfig({
  plugins: [onlyWoff2(), react()],
  build: {
    outDir: "dist",
    target: "es2023",
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: true,
  },
  server: { proxy: { "/api": { target: process.env["KITH_PAGE_HOST"] ?? "http://127.0.0.1:7777", ws: true } } },
  test: { include: ["test/unit/**/*.test.{ts,tsx}"] },
} as Parameters<typeof defineConfig>[0]);
