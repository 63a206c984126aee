(() => {
  const form = document.getElementById('filter');
  const input = form.querySelector('input');
  const output = form.querySelector('output');
  const articles = [...document.querySelectorAll('main article')];
  let waiting;
  const filter = () => {
    const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    for (const article of articles) {
      const text = words.length ? article.textContent.toLowerCase() : '';
      const fits = words.every((word) => text.includes(word));
      article.hidden = !fits;
      shown += fits;
    }
    document.body.classList.toggle('filtered', words.length > 0);
    output.textContent = words.length ? `${shown} of ${articles.length}` : '';
  };
  // Paper shows what is folded; browsers without ::details-content need help.
  let folded = [];
  addEventListener('beforeprint', () => {
    folded = [...document.querySelectorAll('details:not([open])')];
    for (const part of folded) part.open = true;
  });
  addEventListener('afterprint', () => {
    for (const part of folded) part.open = false;
  });
  form.hidden = false;
  form.addEventListener('submit', (event) => event.preventDefault());
  input.addEventListener('input', () => {
    clearTimeout(waiting);
    waiting = setTimeout(filter, 120);
  });
  addEventListener('hashchange', () => {
    input.value = '';
    filter();
    const target = document.getElementById(location.hash.slice(1));
    if (target) target.scrollIntoView();
  });
})();
