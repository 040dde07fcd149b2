package chaos

import (
	"context"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/moorage-dev/moorage/pkg/errors"
)

// pageEvery is the share of requests that a gateway answers with a page: one of so many.
const pageEvery = 100

// A gateway is a proxy between the provider and the API server. While it is wrong, it answers some requests
// by itself, with a page that says nothing about the requested object, as load balancers and proxies do
// whose routes are wrong for a moment.
type gateway struct {
	// kubeconfig is the path of the one that leads through the gateway.
	kubeconfig string

	server *http.Server
	next   http.Handler

	wrong   atomic.Bool
	asked   atomic.Int64 // since it was wrong for the first time
	answers atomic.Int64 // pages
}

// newGateway starts a gateway to the API server, which it calls with the credentials of the provider. Its
// kubeconfig is in dir.
func newGateway(cfg *rest.Config, dir string) (*gateway, error) {
	to, err := url.Parse(cfg.Host)
	if err != nil {
		return nil, errors.Wrap(err, "cannot parse the address of the API server")
	}

	transport, err := rest.TransportFor(cfg)
	if err != nil {
		return nil, errors.Wrap(err, "cannot create a transport for the gateway")
	}

	listener, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, errors.Wrap(err, "cannot start a gateway")
	}

	g := &gateway{kubeconfig: filepath.Join(dir, "gateway.kubeconfig")}
	g.next = &httputil.ReverseProxy{
		Rewrite:       func(r *httputil.ProxyRequest) { r.SetURL(to) },
		Transport:     transport,
		FlushInterval: -1, // events of watches are passed on at once
		ErrorLog:      log.New(io.Discard, "", 0),
		// A missing server has the same effect as without a gateway: the connection breaks.
		ErrorHandler: func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) },
	}
	g.server = &http.Server{Handler: g, ReadHeaderTimeout: time.Minute, ErrorLog: log.New(io.Discard, "", 0)}

	go func() { _ = g.server.Serve(listener) }() // until it is closed

	if err := g.write("http://" + listener.Addr().String()); err != nil {
		g.stop()

		return nil, err
	}

	return g, nil
}

// write writes the kubeconfig.
func (g *gateway) write(address string) error {
	const name = "gateway"

	c := clientcmdapi.NewConfig()
	c.Clusters[name] = &clientcmdapi.Cluster{Server: address}
	c.Contexts[name] = &clientcmdapi.Context{Cluster: name}
	c.CurrentContext = name

	text, err := clientcmd.Write(*c)
	if err != nil {
		return errors.Wrap(err, "cannot write a kubeconfig")
	}

	return errors.Wrap(os.WriteFile(g.kubeconfig, text, 0o600), "cannot write a kubeconfig")
}

// ServeHTTP passes a request on, or answers it with a page.
func (g *gateway) ServeHTTP(out http.ResponseWriter, r *http.Request) {
	if !g.wrong.Load() || g.asked.Add(1)%pageEvery != 1 {
		g.next.ServeHTTP(out, r)

		return
	}

	codes := [...]int{http.StatusNotFound, http.StatusForbidden, http.StatusBadGateway}
	code := codes[int(g.answers.Add(1)-1)%len(codes)]

	_, _ = io.Copy(io.Discard, r.Body)

	out.Header().Set("Content-Type", "text/html")
	out.WriteHeader(code)
	fmt.Fprintf(out, "<html><head><title>%d %[2]s</title></head><body><h1>%[2]s</h1></body></html>\n",
		code, http.StatusText(code))
}

// stop ends the gateway and all connections through it.
func (g *gateway) stop() { _ = g.server.Close() }
