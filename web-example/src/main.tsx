import { createRoot } from 'react-dom/client';
import { Root } from './ui/app';
import './ui/app.css';

const root = document.getElementById('root');
if (root) createRoot(root).render(<Root />);
