import preact from "@preact/preset-vite";
import { defineConfig } from "vitest/config";

export default defineConfig({
  base: "./",
  plugins: [preact()],
  build: { outDir: "../src/tensorsleuth/ui/web/static", emptyOutDir: true, chunkSizeWarningLimit: 1000, assetsInlineLimit: 0 },
  server: { proxy: { "/api": "http://127.0.0.1:6070" } },
  test: { environment: "happy-dom", css: true, include: ["tests/**/*.test.{ts,tsx}"] },
});
