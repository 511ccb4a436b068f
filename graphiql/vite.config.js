import { defineConfig } from 'vite';

export default defineConfig({
  logLevel: 'error', // others' code says much that is nobody's concern
  base: '/graphiql/',
  build: {
    target: 'es2022',
    // The folder holds a `.gitignore`.
    emptyOutDir: false,
    modulePreload: false,
    chunkSizeWarningLimit: 8_000,
    // Names without hashes: the server revalidates each file by its content.
    rollupOptions: {
      output: { entryFileNames: 'assets/app.js', chunkFileNames: 'assets/[name].js', assetFileNames: 'assets/[name][extname]' },
    },
  },
  worker: { format: 'es', rollupOptions: { output: { entryFileNames: 'assets/[name].js' } } },
});
