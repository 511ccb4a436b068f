import react from '@vitejs/plugin-react';
import { defineConfig } from 'vitest/config';

/** The server that `npm run dev` talks to. */
const server = process.env['ANSWERABLE_URL'] ?? 'http://127.0.0.1:8787';
// The server refuses pages of other origins, and rightly so: in development the proxy speaks for its own.
const proxy = { target: server, changeOrigin: true, headers: { origin: server } };

export default defineConfig({
  plugins: [react()],
  build: {
    target: 'es2022',
    // The folder holds a `.gitignore`; names without hashes leave nothing behind.
    emptyOutDir: false,
    modulePreload: false,
    rollupOptions: {
      output: {
        entryFileNames: 'assets/app.js',
        chunkFileNames: 'assets/[name].js',
        assetFileNames: 'assets/[name][extname]',
      },
    },
  },
  server: { proxy: { '/graphql/ws': { ...proxy, ws: true }, '/graphql': proxy } },
  test: { environment: 'happy-dom', include: ['test/**/*.test.{ts,tsx}'] },
});
