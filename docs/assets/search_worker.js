// A page opened from disk may not start a worker from a file, but may start one from memory.
// `searchWorker`, the text of the worker, is put in front of this when the site is built.
if (location.protocol === "file:") {
  const url = URL.createObjectURL(new Blob([searchWorker], { type: "text/javascript" }))
  window.Worker = class extends window.Worker {
    constructor() {
      super(url)
    }
  }
}
