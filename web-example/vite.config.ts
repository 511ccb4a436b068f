import { stringifyDocument } from '@urql/core';
import react from '@vitejs/plugin-react';
import type { Plugin } from 'vite';
import { defineConfig } from 'vitest/config';

import * as documents from './src/api/documents.ts';

/** The server that `npm run dev` talks to. */
const server = process.env['ANSWERABLE_URL'] ?? 'http://127.0.0.1:8787';
// The server refuses pages of other origins, and rightly so: in development the proxy speaks for its own.
const proxy = { target: server, changeOrigin: true, headers: { origin: server } };

/** Lists what the page asks: its server trusts these documents where it trusts no others. */
const listed: Plugin = {
  name: 'documents',
  apply: 'build',
  generateBundle() {
    const operations = Object.entries(documents).filter(([, { definitions }]) => definitions.some(({ kind }) => kind === 'OperationDefinition'));
    const texts = operations.map(([name, document]) => [name, stringifyDocument(document)]);
    this.emitFile({ type: 'asset', fileName: 'documents.json', source: JSON.stringify(Object.fromEntries(texts)) });
  },
};

export default defineConfig({
  plugins: [react(), listed],
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
