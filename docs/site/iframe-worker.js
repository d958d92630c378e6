/* SPDX-License-Identifier: Apache-2.0
 * A page that is opened from a disk may start no worker. There the search runs in a frame of the page. */
if (location.protocol === "file:") {
    window.Worker = class extends EventTarget {
        constructor(url) {
            super();
            const address = new URL(url, document.baseURI).href;
            this.frame = document.createElement("iframe");
            this.frame.hidden = true;
            this.frame.srcdoc = "<!doctype html><title>search</title>";
            this.inside = new Promise((resolve) => {
                this.frame.onload = () => {
                    const inside = this.frame.contentWindow;
                    inside.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", {data}));
                    inside.importScripts = () => undefined; // languages other than English
                    const script = inside.document.createElement("script");
                    script.src = address;
                    script.onload = () => resolve(inside);
                    inside.document.head.append(script);
                };
            });
            document.body.append(this.frame);
        }
        postMessage(data) {
            this.inside.then((inside) => inside.dispatchEvent(new inside.MessageEvent("message", {data})));
        }
        terminate() {
            this.frame.remove();
        }
    };
}
