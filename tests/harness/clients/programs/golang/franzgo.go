// A consumer of franz-go.
package main

import (
	"context"
	"errors"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

type franzGo struct {
	consumer *consumer
	client   *kgo.Client
}

func open(c *consumer) library { return &franzGo{consumer: c} }

var balancers = map[string]kgo.GroupBalancer{
	"range":              kgo.RangeBalancer(),
	"roundrobin":         kgo.RoundRobinBalancer(),
	"cooperative-sticky": kgo.CooperativeStickyBalancer(),
}

func flat(given map[string][]int32) []partition {
	found := []partition{}
	for topic, indexes := range given {
		for _, index := range indexes {
			found = append(found, partition{topic, index})
		}
	}
	return found
}

func (l *franzGo) subscribe(topics []string) error {
	s := l.consumer.settings
	start := kgo.NewOffset().AtStart()
	if s.Reset == "latest" {
		start = kgo.NewOffset().AtEnd()
	}
	options := []kgo.Opt{
		kgo.SeedBrokers(s.Address),
		kgo.ClientID(s.ClientID),
		kgo.ConsumerGroup(s.GroupID),
		kgo.ConsumeTopics(topics...),
		kgo.Balancers(balancers[s.Assignor]),
		kgo.SessionTimeout(time.Duration(s.Session) * time.Millisecond),
		kgo.HeartbeatInterval(time.Duration(s.Heartbeat) * time.Millisecond),
		kgo.ConsumeResetOffset(start),
		kgo.DisableAutoCommit(),
		kgo.BlockRebalanceOnPoll(),
		kgo.FetchMaxWait(100 * time.Millisecond),
		kgo.OnPartitionsAssigned(func(_ context.Context, _ *kgo.Client, these map[string][]int32) {
			l.consumer.assigned(flat(these))
		}),
		kgo.OnPartitionsRevoked(func(_ context.Context, _ *kgo.Client, these map[string][]int32) {
			l.consumer.revoke(flat(these))
		}),
		kgo.OnPartitionsLost(func(_ context.Context, _ *kgo.Client, these map[string][]int32) {
			l.consumer.lost(flat(these))
		}),
	}
	if s.InstanceID != "" {
		options = append(options, kgo.InstanceID(s.InstanceID))
	}
	client, err := kgo.NewClient(options...)
	l.client = client
	return err
}

func (l *franzGo) membership() (int32, string) {
	if l.client == nil {
		return -1, ""
	}
	member, generation := l.client.GroupMetadata()
	return generation, member
}

// While records are handed out no rebalance goes on, which BlockRebalanceOnPoll is for.
func (l *franzGo) poll() error {
	if l.client == nil {
		time.Sleep(20 * time.Millisecond)
		return nil
	}
	l.client.AllowRebalance()
	within, done := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer done()
	fetches := l.client.PollRecords(within, 100)
	fetches.EachRecord(func(r *kgo.Record) {
		l.consumer.saw(partition{r.Topic, r.Partition}, r.Offset, string(r.Value))
	})
	for _, each := range fetches.Errors() {
		if !errors.Is(each.Err, context.DeadlineExceeded) {
			return each.Err
		}
	}
	return nil
}

func (l *franzGo) commit(of offsets) error {
	asked := map[string]map[int32]kgo.EpochOffset{}
	for at, offset := range of {
		if asked[at.topic] == nil {
			asked[at.topic] = map[int32]kgo.EpochOffset{}
		}
		asked[at.topic][at.index] = kgo.EpochOffset{Epoch: -1, Offset: offset}
	}
	var failed error
	l.client.CommitOffsetsSync(context.Background(), asked,
		func(_ *kgo.Client, _ *kmsg.OffsetCommitRequest, answer *kmsg.OffsetCommitResponse, err error) {
			failed = err
			if err == nil {
				for _, topic := range answer.Topics {
					for _, each := range topic.Partitions {
						if wrong := kerr.ErrorForCode(each.ErrorCode); wrong != nil {
							failed = wrong
						}
					}
				}
			}
		})
	return failed
}

// A topic that was made anew has another id, which the client has to learn first.
func (l *franzGo) committed(of []partition) (map[partition]*int64, error) {
	for tries := 0; ; tries++ {
		found, err := l.fetched(of)
		if err == nil || tries == 100 {
			return found, err
		}
		l.client.ForceMetadataRefresh()
		time.Sleep(100 * time.Millisecond)
	}
}

func (l *franzGo) fetched(of []partition) (map[partition]*int64, error) {
	request := kmsg.NewPtrOffsetFetchRequest()
	request.Group = l.consumer.settings.GroupID
	for _, at := range of {
		topic := kmsg.NewOffsetFetchRequestTopic()
		topic.Topic, topic.Partitions = at.topic, []int32{at.index}
		request.Topics = append(request.Topics, topic)
	}
	answer, err := request.RequestWith(context.Background(), l.client)
	if err != nil {
		return nil, err
	}
	found := map[partition]*int64{}
	for _, topic := range answer.Topics {
		for _, each := range topic.Partitions {
			if wrong := kerr.ErrorForCode(each.ErrorCode); wrong != nil {
				return nil, wrong
			}
			found[partition{topic.Topic, each.Partition}] = nil
			if each.Offset >= 0 {
				offset := each.Offset
				found[partition{topic.Topic, each.Partition}] = &offset
			}
		}
	}
	return found, nil
}

func (l *franzGo) close() {
	if l.client != nil {
		l.client.CloseAllowingRebalance()
	}
}
