// Package natsproc runs NATS servers as processes that can be killed. A program that uses it runs itself again as the
// server, so it must call Main first.
package natsproc

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/moorage-dev/moorage/pkg/test/port"
)

// patience is how long a server may take until it accepts connections.
const patience = 2 * time.Minute

// environment is the variable that has the Node of a server process.
const environment = "NATSPROC_NODE"

// A Node is a server of a cluster.
type Node struct {
	Name    string
	Port    int
	Route   int      // its port for other nodes; 0 if it is alone
	Routes  []string // of all nodes
	Dir     string
	process *exec.Cmd
	ranged  *port.Range // keeps the ports from others, also while the server is down
}

// Main runs the server, and does not return, if this process was started as one.
func Main() {
	text := os.Getenv(environment)
	if text == "" {
		return
	}
	if err := serve(text); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

func serve(text string) error {
	var n Node
	if err := json.Unmarshal([]byte(text), &n); err != nil {
		return err
	}
	opts := &server.Options{ServerName: n.Name, Host: "127.0.0.1", Port: n.Port, JetStream: true, StoreDir: n.Dir,
		NoLog: true, NoSigs: true}
	if n.Route != 0 {
		opts.Cluster = server.ClusterOpts{Name: "store", Host: "127.0.0.1", Port: n.Route}
		opts.Routes = server.RoutesFromStr(strings.Join(n.Routes, ","))
	}
	srv, err := server.NewServer(opts)
	if err != nil {
		return err
	}
	srv.SetLogger(fatal{}, false, false)
	srv.Start()
	if !srv.ReadyForConnections(patience) {
		return fmt.Errorf("%s does not listen", n.Name)
	}
	if _, err := fmt.Println(n.Name, "listens"); err != nil { // see Start
		return err
	}
	end := make(chan os.Signal, 1)
	signal.Notify(end, syscall.SIGTERM, os.Interrupt)
	<-end
	srv.Shutdown()
	srv.WaitForShutdown()

	return nil
}

// A fatal is a logger that prints fatal errors of a server and ends the process. Without it the server would keep
// running.
type fatal struct{}

func (fatal) Fatalf(format string, v ...any) {
	fmt.Fprintf(os.Stderr, format+"\n", v...)
	os.Exit(1)
}
func (fatal) Noticef(string, ...any) {}
func (fatal) Warnf(string, ...any)   {}
func (fatal) Errorf(string, ...any)  {}
func (fatal) Debugf(string, ...any)  {}
func (fatal) Tracef(string, ...any)  {}

// Cluster returns nodes with data below a folder. They are not started.
func Cluster(dir string, size int) ([]*Node, error) {
	ranged := port.NewRange()
	ports := make([]int, 2*size)
	for i := range ports {
		var err error
		if ports[i], err = ranged.Find(); err != nil {
			return nil, err
		}
	}
	nodes, routes := make([]*Node, size), make([]string, size)
	for i := range size {
		routes[i] = "nats-route://127.0.0.1:" + strconv.Itoa(ports[2*i+1])
	}
	for i := range size {
		name := "node" + strconv.Itoa(i+1)
		nodes[i] = &Node{Name: name, Port: ports[2*i], Dir: filepath.Join(dir, name), ranged: ranged}
		if size > 1 {
			nodes[i].Route, nodes[i].Routes = ports[2*i+1], routes
		}
	}

	return nodes, nil
}

// URL returns the address for clients.
func (n *Node) URL() string { return "nats://127.0.0.1:" + strconv.Itoa(n.Port) }

// Start starts the process and waits until it prints that it listens: another process might respond at its port. The
// process ends with this one. Start fails if it ends before it listens.
func (n *Node) Start() error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	text, err := json.Marshal(n)
	if err != nil {
		return err
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), environment+"="+string(text))
	cmd.Stderr = os.Stderr
	dieWithParent(cmd)
	printed, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	late := time.AfterFunc(patience+time.Minute, func() { _ = cmd.Process.Kill() })
	defer late.Stop()
	if line, err := bufio.NewReader(printed).ReadString('\n'); err != nil {
		return fmt.Errorf("%s said %q, and ended before it listened: %w", n.Name, line, errors.Join(err, cmd.Wait()))
	}
	n.process = cmd

	return nil
}

// Kill kills the process, and waits for its end.
func (n *Node) Kill() error {
	if n.process == nil {
		return nil
	}
	if err := n.process.Process.Kill(); err != nil {
		return err
	}
	_ = n.process.Wait() // the error says that it was killed
	n.process = nil

	return nil
}
