// Command kfake starts one broker of kfake on 127.0.0.1, prints its host and port and
// ends when its standard input does. Arguments are settings of the broker, NAME=VALUE.
package main

import (
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"strings"

	"github.com/twmb/franz-go/pkg/kfake"
)

func main() {
	port := flag.Int("port", 0, "port to listen on; 0 for one that is free")
	flag.Parse()
	configs := map[string]string{}
	for _, word := range flag.Args() {
		name, value, _ := strings.Cut(word, "=")
		configs[name] = value
	}
	cluster, err := kfake.NewCluster(
		kfake.Ports(*port),
		kfake.AllowAutoTopicCreation(),
		kfake.DefaultNumPartitions(1),
		kfake.BrokerConfigs(configs),
	)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	host, bound, err := net.SplitHostPort(cluster.ListenAddrs()[0])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(host, bound)
	io.Copy(io.Discard, os.Stdin)
}
