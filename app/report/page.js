"use strict";
(async () => {
  const scheme = window.matchMedia("(prefers-color-scheme: dark)");
  const charts = Array.from(document.querySelectorAll(".chart"));
  const printedWidth = 680; // CSS pixels between the margins of an A4 sheet

  // Plotly travels packed; it is unpacked here and runs only because its digest is in the policy.
  async function unpack() {
    const packed = document.getElementById("plotly").textContent.trim();
    const bytes = Uint8Array.from(atob(packed), (sign) => sign.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    const script = document.createElement("script");
    script.textContent = await new Response(stream).text();
    document.head.appendChild(script);
  }

  function colours(printed) {
    if (printed) return { paper: "#ffffff", ink: "#000000" };
    const style = getComputedStyle(document.documentElement);
    return {
      paper: style.getPropertyValue("--paper").trim(),
      ink: style.getPropertyValue("--ink").trim(),
    };
  }

  function dressed(printed) {
    const { paper, ink } = colours(printed);
    return {
      paper_bgcolor: paper,
      plot_bgcolor: paper,
      "font.color": ink,
      "hoverlabel.bgcolor": paper,
      "hoverlabel.font.color": ink,
    };
  }

  function picture(format, icon) {
    return {
      name: "Save as " + format.toUpperCase(),
      icon: icon,
      click: (chart) =>
        Plotly.downloadImage(chart, { format: format, filename: chart.dataset.name, scale: 2 }),
    };
  }

  async function draw(chart, specs) {
    const { data, layout } = specs[Number(chart.dataset.chart)];
    const { paper, ink } = colours(false);
    Object.assign(layout, { paper_bgcolor: paper, plot_bgcolor: paper, autosize: true });
    const family = getComputedStyle(document.body).fontFamily;
    layout.font = Object.assign({}, layout.font, { color: ink, family: family });
    for (const name of Object.keys(layout)) {
      if (name.startsWith("xaxis")) layout[name].showgrid = false;
    }
    layout.hoverlabel = Object.assign({}, layout.hoverlabel, { bgcolor: paper, font: { color: ink } });
    await Plotly.newPlot(chart, data, layout, {
      responsive: true,
      displaylogo: false,
      modeBarButtonsToRemove: ["toImage", "select2d", "lasso2d"],
      modeBarButtonsToAdd: [
        picture("png", Plotly.Icons.camera),
        picture("svg", Plotly.Icons.disk),
      ],
    });
  }

  function redress(printed) {
    const width = printed ? { width: printedWidth, autosize: false } : { width: null, autosize: true };
    charts.forEach((chart) => Plotly.relayout(chart, Object.assign(dressed(printed), width)));
  }

  try {
    await unpack();
    const specs = JSON.parse(document.getElementById("charts").textContent);
    for (const chart of charts) await draw(chart, specs);
    scheme.addEventListener("change", () => redress(false));
    window.addEventListener("beforeprint", () => redress(true));
    window.addEventListener("afterprint", () => redress(false));
    document.documentElement.dataset.drawn = String(charts.length);
  } catch (error) {
    charts.forEach((chart) => {
      chart.textContent = "This browser cannot draw the chart (" + error + "). The tables hold its numbers.";
    });
  }
})();
